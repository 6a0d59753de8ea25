-- What a run has left out of the model's answer, because the raw messages do not confirm it.
ALTER TABLE historian_runs ADD COLUMN unconfirmed_quotes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE historian_runs ADD COLUMN unconfirmed_facts  INTEGER NOT NULL DEFAULT 0;
