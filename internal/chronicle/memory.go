package chronicle

import "slices"

// A Fact is a statement about the project that outlives the session, for example "tests run with `go test ./...`".
// When the historian's run is published, the fact is stored as a memory.
type Fact struct {
	// Category is for example "NAMING".
	Category string
	Content  string
	Source   Range
}

// Categories are in the order in which people and models see them.
var Categories = [...]string{"PROJECT_RULES", "ARCHITECTURE", "CONSTRAINTS", "CONFIG_VALUES", "NAMING"}

// A Memory is a fact about a project, for example "tests run with `go test ./...`".
type Memory struct {
	ID      int64  `json:"id"`      // the store never gives an id twice
	Project string `json:"project"` // identity
	// SharedBy is set only when a session of another project in the workspace reads the memory. It is the name of the
	// memory's project in the workspace.
	SharedBy string `json:"sharedBy,omitzero"`
	// Directory is the directory of the session that last learned the memory. Seen counts how often sessions have
	// learned it.
	Directory string `json:"directory,omitzero"`
	Category  string `json:"category"` // the kind of fact, for example "NAMING"
	Content   string `json:"content"`
	Source    Source `json:"source"`
	// Message is the ordinal of the message from which the memory was learned, or 0.
	Harness      string       `json:"harness,omitzero"`
	Session      string       `json:"session,omitzero"`
	Message      int          `json:"message,omitzero"`
	Status       MemoryStatus `json:"status"`
	SupersededBy int64        `json:"supersededBy,omitzero"`
	// Importance is 1 to 100, or 0 if nobody has judged it.
	Importance int `json:"importance,omitzero"`
	// If not all memories fit into the head, permanent memories are chosen first.
	Permanent bool `json:"permanent,omitzero"`
	Seen      int  `json:"seen,omitzero"`
	// The times are in Unix ms. If a session learns the memory again, SeenAt changes, but UpdatedAt does not. A
	// memory is shown until ExpiresAt, or always if ExpiresAt is 0.
	CreatedAt int64 `json:"createdAt,omitzero"`
	UpdatedAt int64 `json:"updatedAt,omitzero"`
	SeenAt    int64 `json:"seenAt,omitzero"`
	ExpiresAt int64 `json:"expiresAt,omitzero"`
	// Check is the source text of a check of the memory (see ParseCheck). Doubt is the reason why the newest test of
	// this check failed, or "" if it passed.
	Check string `json:"check,omitzero"`
	Doubt string `json:"doubt,omitzero"`
}

// Logged returns the content as the log of changes stores it. If there is a doubt, the doubt precedes the content.
func (m *Memory) Logged() string {
	if m.Doubt == "" {
		return m.Content
	}
	return "[doubtful: " + m.Doubt + "] " + m.Content
}

type Source string

const (
	FromHistorian Source = "historian" // a fact that the historian has found
	FromUser      Source = "user"      // the user wrote it on the command line
	FromAgent     Source = "agent"     // a model concluded it
	FromTool      Source = "tool"      // a model repeats what a tool or a file said
	FromWeb       Source = "web"       // a model repeats what a web page said
)

// sources lists all sources, from the most to the least trusted.
var sources = []Source{FromUser, FromHistorian, FromAgent, FromTool, FromWeb}

// LessTrusted returns the less trusted of two sources. A text that combines two texts gets this source, so that a merge
// cannot raise the trust in a text.
func LessTrusted(a, b Source) Source {
	if slices.Index(sources, a) > slices.Index(sources, b) {
		return a
	}
	return b
}

type MemoryStatus string

const (
	MemoryIsActive     MemoryStatus = "active"
	MemoryIsProposed   MemoryStatus = "proposed" // the user has to accept it first
	MemoryIsArchived   MemoryStatus = "archived"
	MemoryIsSuperseded MemoryStatus = "superseded" // another memory says it better
)

type ChangeKind string

const (
	MemoryUpdated    ChangeKind = "update"
	MemorySuperseded ChangeKind = "supersede"
	MemoryArchived   ChangeKind = "archive"
	MemoryDeleted    ChangeKind = "delete"
	MemoryRestored   ChangeKind = "restore"
)

// A MemoryChange is one entry of the log of changed memories.
type MemoryChange struct {
	// IDs grow, so a later entry has a higher ID.
	ID           int64      `json:"-"`
	Project      string     `json:"-"`
	Kind         ChangeKind `json:"kind"`
	Memory       int64      `json:"-"`
	SupersededBy int64      `json:"supersededBy,omitzero"`
	// Category and Content describe the memory after the change. If the memory was archived, Content is the reason for
	// this instead.
	Category string `json:"category,omitzero"`
	Content  string `json:"content,omitzero"`
	// Source is the memory's present source. It is set only if the change is read for the delta.
	Source Source `json:"-"`
	At     int64  `json:"at"`
}

// A Note is a reminder that a model has written for later.
type Note struct {
	ID int64 `json:"id"`
	// Harness and Session name the session that wrote the note. They are empty for a note with a condition, which
	// belongs to Project instead.
	Harness   string `json:"harness,omitzero"`
	Session   string `json:"session,omitzero"`
	Project   string `json:"project,omitzero"`
	Message   int    `json:"message,omitzero"`
	Content   string `json:"content"`
	Condition string `json:"condition,omitzero"`
	// SaidBy is set only for a promise. A promise belongs to Project, and Content quotes the message with the ordinal
	// Message.
	SaidBy Speaker    `json:"saidBy,omitzero"`
	Status NoteStatus `json:"status"`
	// Reason says why a ready note's condition holds, for example "api.md exists", or where a promise was closed.
	Reason    string `json:"reason,omitzero"`
	CreatedAt int64  `json:"createdAt"` // Unix ms
	UpdatedAt int64  `json:"-"`
}

func (n *Note) IsOpen() bool { return n.Status != NoteIsDone && n.Status != NoteIsDismissed }

type NoteStatus string

const (
	NoteIsActive    NoteStatus = "active"
	NoteIsPending   NoteStatus = "pending" // it waits for its condition
	NoteIsReady     NoteStatus = "ready"   // the host has found that its condition holds
	NoteIsDone      NoteStatus = "done"
	NoteIsDismissed NoteStatus = "dismissed"
)
