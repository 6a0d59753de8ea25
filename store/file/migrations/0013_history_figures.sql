-- The journal says which passes have folded the head, and how large the head of each wire
-- was.
ALTER TABLE passes ADD COLUMN fold_reason     TEXT    NOT NULL DEFAULT ''; -- '' for no fold
ALTER TABLE passes ADD COLUMN baseline_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN delta_tokens    INTEGER NOT NULL DEFAULT 0;
CREATE INDEX passes_folds ON passes (harness, session_id, fold_reason) WHERE fold_reason <> '';

-- Publications that no model has made, of all publications.
ALTER TABLE histories ADD COLUMN extracted INTEGER NOT NULL DEFAULT 0;

-- A status sums up the compartments of fifty sessions each second while somebody watches.
-- The index holds all that it needs, so that no text is read.
CREATE INDEX compartments_figures ON compartments (harness, session_id, fidelity, start_ordinal, end_ordinal, raw_tokens, made_by);
