package store

import "testing"

// A directory becomes a repository, or an older release has stored the directory itself. What is known about the
// directory is then known about the repository.
func TestProjectAdoptsTheRowsOfADirectory(t *testing.T) {
	const former = "dir:0123456789ab"
	for _, before := range []string{former, directory} {
		s := openIn(t, t.TempDir())
		begin(t, s)
		known := FactRow{Category: "NAMING", Content: "known to both"}
		learn(t, s, known)
		must(t, s.update(t.Context(), func(tx *transaction) error {
			_, err := tx.exec(`UPDATE sessions SET project = ?`, map[string]string{former: former}[before])
			return err
		}))
		p := publication(t, s)
		p.Project, p.Compartments = before, []CompartmentRow{compartment(p.After.Ordinal, p.After.Ordinal)}
		p.Facts = []FactRow{known, {Category: "NAMING", Content: "known to the directory"}}
		must(t, s.History.Publish(t.Context(), p))
		must(t, s.Memories.Change(t.Context(), MemoryChange{Project: before, Kind: MemoryUpdate, Memory: 3, Category: "NAMING", Content: "changed"}))

		for range 2 {
			must(t, s.Memories.Adopt(t.Context(), directory, former, project))
		}
		same(t, "memories", memories(t, s, now), []string{"known to both", "changed"})
		changes, err := s.Memories.Changes(t.Context(), project, 0)
		must(t, err)
		if len(changes) != 1 {
			t.Errorf("%s: changes %+v", before, changes)
		}
		same(t, "session", load(t, s, key).Session.Project, project)
		old, err := s.Memories.Of(t.Context(), before, now)
		must(t, err)
		same(t, "old memories", old, ProjectMemories{})
	}
}
