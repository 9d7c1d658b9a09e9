CREATE TABLE Airlines (Code TEXT PRIMARY KEY, Name TEXT, Country TEXT);
CREATE TABLE Airports (Code TEXT PRIMARY KEY, City TEXT, Country TEXT, Elevation INTEGER);
CREATE TABLE Flights (FlightNo INTEGER, Airline TEXT, Origin TEXT, Destination TEXT, Departs TEXT, Minutes INTEGER, "Order" INTEGER);
CREATE TABLE Delays (FlightNo INTEGER, Date TEXT, "Arrival Delay" INTEGER, Cancelled INTEGER);
