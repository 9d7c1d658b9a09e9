CREATE TABLE student (stu_id INTEGER PRIMARY KEY, fname TEXT, lname TEXT, age INTEGER, sex TEXT, major TEXT, advisor INTEGER REFERENCES teacher (tid));
CREATE TABLE teacher (tid INTEGER PRIMARY KEY, fname TEXT, lname TEXT, salary REAL, hired TEXT);
CREATE TABLE course (cid TEXT PRIMARY KEY, title TEXT, credits INTEGER, tid INTEGER REFERENCES teacher (tid));
CREATE TABLE enrolled (stu_id INTEGER REFERENCES student (stu_id), cid TEXT REFERENCES course (cid), grade TEXT, "Year" INTEGER);
CREATE TABLE prerequisite (cid TEXT, required TEXT);
