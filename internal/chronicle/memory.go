package chronicle

import "slices"

// A Fact is a statement about the project that stays true after the session, for example "tests run with `go
// test ./...`". When it is published, it becomes a memory.
type Fact struct {
	// Category is for example "NAMING".
	Category string
	Content  string
	// Source is the range of messages that the fact comes from.
	Source Range
}

// Categories are the categories of memories, in the order in which people and models see them.
var Categories = [...]string{"PROJECT_RULES", "ARCHITECTURE", "CONSTRAINTS", "CONFIG_VALUES", "NAMING"}

// A Memory is something that is known about a project, for example "tests run with `go test ./...`". All sessions and
// harnesses share it. Commands with --json print its JSON form.
type Memory struct {
	ID      int64  `json:"id"`      // the store never gives an id twice
	Project string `json:"project"` // identity
	// SharedBy is the name that the workspace gives to the memory's project, if another project of the workspace reads the
	// memory. Otherwise it is empty.
	SharedBy string `json:"sharedBy,omitzero"`
	// Directory is the directory of the session that learned the memory last. SeenAt is the time of this event, in Unix
	// ms. Seen counts how often a session has learned the memory.
	Directory string `json:"directory,omitzero"`
	Category  string `json:"category"` // the kind of fact, for example "NAMING"
	Content   string `json:"content"`
	Source    Source `json:"source"`
	// Harness and Session identify the session in which the memory was learned. Message is the ordinal of the message
	// from which it was learned, or 0.
	Harness string       `json:"harness,omitzero"`
	Session string       `json:"session,omitzero"`
	Message int          `json:"message,omitzero"`
	Status  MemoryStatus `json:"status"`
	// SupersededBy is the memory that replaces a superseded one.
	SupersededBy int64 `json:"supersededBy,omitzero"`
	// Importance is 1 to 100, or 0 if nobody has judged it.
	Importance int `json:"importance,omitzero"`
	// Permanent memories are chosen before all others.
	Permanent bool `json:"permanent,omitzero"`
	Seen      int  `json:"seen,omitzero"`
	// The times are in Unix ms. UpdatedAt is the time of the newest change. If a session learns the memory again,
	// UpdatedAt stays. From ExpiresAt on, the memory is no longer shown; 0 means never.
	CreatedAt int64 `json:"createdAt,omitzero"`
	UpdatedAt int64 `json:"updatedAt,omitzero"`
	SeenAt    int64 `json:"seenAt,omitzero"`
	ExpiresAt int64 `json:"expiresAt,omitzero"`
	// Check is a text for ParseCheck, and says what must be true in the project. Doubt is the reason why the newest
	// test of the check failed, or "".
	Check string `json:"check,omitzero"`
	Doubt string `json:"doubt,omitzero"`
}

// Logged returns the content of the memory as the log of changes shows it: with its doubt.
func (m *Memory) Logged() string {
	if m.Doubt == "" {
		return m.Content
	}
	return "[doubtful: " + m.Doubt + "] " + m.Content
}

// A Source says where a memory comes from.
type Source string

const (
	FromHistorian Source = "historian" // a fact that the historian has found
	FromUser      Source = "user"      // the user wrote it on the command line
	FromAgent     Source = "agent"     // a model concluded it
	FromTool      Source = "tool"      // a model repeats what a tool or a file said
	FromWeb       Source = "web"       // a model repeats what a web page said
)

// sources are the sources from the most to the least trusted.
var sources = []Source{FromUser, FromHistorian, FromAgent, FromTool, FromWeb}

// LessTrusted returns the less trusted of two sources. A text that was made from both sources deserves no more trust.
func LessTrusted(a, b Source) Source {
	if slices.Index(sources, a) > slices.Index(sources, b) {
		return a
	}
	return b
}

// A MemoryStatus says whether a memory is shown.
type MemoryStatus string

const (
	MemoryIsActive     MemoryStatus = "active"
	MemoryIsProposed   MemoryStatus = "proposed" // the user has to accept it first
	MemoryIsArchived   MemoryStatus = "archived"
	MemoryIsSuperseded MemoryStatus = "superseded" // another memory says it better
)

// A ChangeKind says how a memory has changed after it was stored.
type ChangeKind string

const (
	MemoryUpdated    ChangeKind = "update"
	MemorySuperseded ChangeKind = "supersede"
	MemoryArchived   ChangeKind = "archive"
	MemoryDeleted    ChangeKind = "delete"
	MemoryRestored   ChangeKind = "restore"
)

// A MemoryChange is one entry of the log of changed memories. Commands with --json print its JSON form.
type MemoryChange struct {
	// ID is the number of the entry. A later entry has a higher number. The store sets it.
	ID      int64      `json:"-"`
	Project string     `json:"-"`
	Kind    ChangeKind `json:"kind"`
	Memory  int64      `json:"-"`
	// SupersededBy is the memory that replaces a superseded one.
	SupersededBy int64 `json:"supersededBy,omitzero"`
	// Category and Content describe the memory after an update or a restoration. If the memory was archived, Content is
	// the reason.
	Category string `json:"category,omitzero"`
	Content  string `json:"content,omitzero"`
	// Source is the memory's present source. It is set only if the change is shown in a prompt.
	Source Source `json:"-"`
	// At is a Unix time in milliseconds. The store sets it.
	At int64 `json:"at"`
}

// A Note is a reminder that a model has written for later. Commands with --json print its JSON form.
type Note struct {
	ID int64 `json:"id"`
	// Harness and Session identify the session that wrote the note. If the note has a condition, it belongs to Project
	// and not to the session.
	Harness string `json:"harness,omitzero"`
	Session string `json:"session,omitzero"`
	Project string `json:"project,omitzero"`
	// Message is the ordinal of the message that wrote the note, or 0.
	Message   int    `json:"message,omitzero"`
	Content   string `json:"content"`
	Condition string `json:"condition,omitzero"`
	// SaidBy is set only for a promise. Content holds the words that the user or the agent wrote in the session's
	// message Message, and the promise belongs to Project.
	SaidBy Speaker    `json:"saidBy,omitzero"`
	Status NoteStatus `json:"status"`
	// Reason says why the condition of a ready note holds, for example "api.md exists". For a closed promise, Reason
	// says where it was closed.
	Reason    string `json:"reason,omitzero"`
	CreatedAt int64  `json:"createdAt"` // Unix ms
	UpdatedAt int64  `json:"-"`
}

// IsOpen reports whether a note is neither done nor dismissed.
func (n *Note) IsOpen() bool { return n.Status != NoteIsDone && n.Status != NoteIsDismissed }

// A NoteStatus says whether a note is still open.
type NoteStatus string

const (
	NoteIsActive    NoteStatus = "active"
	NoteIsPending   NoteStatus = "pending" // it waits for its condition
	NoteIsReady     NoteStatus = "ready"   // the host has found that its condition holds
	NoteIsDone      NoteStatus = "done"
	NoteIsDismissed NoteStatus = "dismissed"
)
