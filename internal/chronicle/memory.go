package chronicle

// A Fact is a statement about the project that stays true after the session, for example "tests run with `go
// test ./...`". When it is published, it becomes a memory.
type Fact struct {
	// Category is for example "NAMING".
	Category string
	Content  string
	// Source is the range of messages that the fact comes from.
	Source Range
}

// A Memory is something that is known about a project, for example "tests run with `go test ./...`". All sessions
// and harnesses share it. Its JSON form is the one that people see.
type Memory struct {
	ID      int64  `json:"id"`      // the store never gives an id twice
	Project string `json:"project"` // identity
	// Directory is the directory of the session that learned the memory last. SeenAt is the time at which it did so,
	// in Unix ms.
	Directory string `json:"directory,omitzero"`
	SeenAt    int64  `json:"-"`
	Category  string `json:"category"` // the kind of fact, for example "NAMING"; the store accepts any name
	Content   string `json:"content"`
	Source    string `json:"source"` // "historian", "agent", "dreamer" or "user"
	// Harness and Session identify the session that the memory was learned in.
	Harness string `json:"harness,omitzero"`
	Session string `json:"session,omitzero"`
	// Importance is 1 to 100, or 0 if nobody has judged it.
	Importance int `json:"-"`
	// Permanent memories are chosen before all others.
	Permanent bool `json:"-"`
	// ExpiresAt is the Unix time in milliseconds from which the memory is no longer shown, or 0.
	ExpiresAt int64 `json:"-"`
}

// A ChangeKind says how a memory has changed after it was stored.
type ChangeKind string

const (
	MemoryUpdated    ChangeKind = "update"
	MemorySuperseded ChangeKind = "supersede"
	MemoryArchived   ChangeKind = "archive"
	MemoryDeleted    ChangeKind = "delete"
)

// A MemoryChange is one entry of the log of changed memories.
type MemoryChange struct {
	// ID is the number of the entry: a later entry has a higher one. The store sets it.
	ID      int64
	Project string
	Kind    ChangeKind
	Memory  int64
	// SupersededBy is the memory that replaces a superseded one.
	SupersededBy int64
	// Category and Content are those of an updated memory.
	Category, Content string
}
