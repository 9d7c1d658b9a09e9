CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, joined DATE);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, category_id INTEGER REFERENCES categories (id));
CREATE TABLE categories (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), placed TEXT, status TEXT);
CREATE TABLE order_items (order_id INTEGER REFERENCES orders (id), product_id INTEGER REFERENCES products (id), quantity INTEGER, "discount rate" REAL);
CREATE VIEW spent AS SELECT customer_id, sum(quantity * price) AS total FROM orders JOIN order_items ON order_id = orders.id JOIN products ON product_id = products.id GROUP BY customer_id;
