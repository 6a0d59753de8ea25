-- Nothing reads these tables and columns.
DROP TABLE compartment_events;
DROP TABLE user_observations;
ALTER TABLE historian_runs DROP COLUMN events;
ALTER TABLE historian_runs DROP COLUMN observations;
