package memories

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/store/database"
)

// Adopt is called when the project of a directory has become known. It assigns the directory's rows to this project.
// `former` is the identity that the directory had until then, for example because it was no repository yet. Adopt also
// takes rows that older releases stored under the directory itself. If the project already has a memory with the same
// category and content, Adopt keeps the project's memory.
func (s *Memories) Adopt(ctx context.Context, directory, former, project string) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		for _, query := range []string{
			`UPDATE sessions SET project = ?3 WHERE directory = ?1 AND project IN ('', ?2)`,
			`UPDATE OR IGNORE memories SET project = ?3 WHERE project IN (?1, ?2)`,
			`DELETE FROM memories WHERE project IN (?1, ?2) AND project <> ?3`,
			`UPDATE memory_changes SET project = ?3 WHERE project IN (?1, ?2)`,
			`UPDATE notes SET project = ?3 WHERE project IN (?1, ?2)`,
			`UPDATE OR IGNORE workspace_members SET project = ?3 WHERE project IN (?1, ?2)`,
			`DELETE FROM workspace_members WHERE project IN (?1, ?2) AND project <> ?3`,
			`UPDATE agent_calls SET project = ?3 WHERE project IN (?1, ?2)`,
			`UPDATE OR IGNORE agent_work SET subject = 'project ' || ?3 WHERE subject IN ('project ' || ?1, 'project ' || ?2)`,
			`UPDATE agent_runs SET
				subject = 'project ' || ?3,
				run = run + (SELECT coalesce(max(run), 0) FROM agent_runs WHERE subject = 'project ' || ?3)
			WHERE subject IN ('project ' || ?1, 'project ' || ?2) AND subject <> 'project ' || ?3`,
		} {
			if _, err := tx.Exec(query, directory, former, project); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("give the rows of %s to project %s: %w", directory, project, err)
	}
	return nil
}
