SELECT fold_reason, count(*)
FROM passes INDEXED BY passes_folds -- without this, the planner would scan the journal
WHERE harness = ? AND session_id = ? AND fold_reason <> ''
GROUP BY fold_reason
ORDER BY count(*) DESC, fold_reason
