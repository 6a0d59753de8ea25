package index

import "github.com/ncruces/go-sqlite3"

// A Kind says what a chunk holds.
type Kind string

const (
	// Text is a part of what the user or the agent said.
	Text Kind = "text"
	// Command is a command that was run.
	Command Kind = "command"
	// Error is the report of a failed call or command.
	Error Kind = "error"
	// Rule says what the user wants always or never.
	Rule     Kind = "rule"
	Decision Kind = "decision"
	// Commit is the message of a commit. It is stored as a part of a session whose harness is "git" and whose id is the
	// project's identity.
	Commit Kind = "commit"
	// Read and Write are files that a tool has read or changed.
	Read  Kind = "read"
	Write Kind = "write"
)

type Role string

const (
	User  Role = "user"
	Agent Role = "agent"
	Tool  Role = "tool"
)

// A Chunk is a part of a message that a search can find. Its texts hold no secrets.
type Chunk struct {
	Kind Kind
	Role Role
	// Subject is the tool of an error, or the path of a file.
	Subject string
	// Status is the exit status of a command, or nil.
	Status *int
	Text   string
	// Context is text from around the chunk, for example the prompt before an answer. A search for words of Context
	// also finds the chunk.
	Context string
}

type Message struct {
	Key     string
	Ordinal int
	At      int64 // Unix ms, 0 if unknown
	// Hash changes if the message changes.
	Hash   int64
	Chunks []Chunk
}

type Session struct {
	Harness, ID        string
	Project, Directory string
	// Source is the file from which the session is read, or "".
	Source string
}

// A Hit is a chunk that matches a query.
type Hit struct {
	Chunk
	// Session is the session that contains the chunk.
	Session     Session
	row         int64
	session     int64  // row
	Message     string // key
	First, Last int
	At          int64
}

func readHit(s *sqlite3.Stmt) (h Hit) {
	h.row = s.ColumnInt64(0)
	h.Session = Session{Project: s.ColumnText(1), Harness: s.ColumnText(2), ID: s.ColumnText(3), Directory: s.ColumnText(4)}
	h.Message, h.Kind, h.Role = s.ColumnText(5), Kind(s.ColumnText(6)), Role(s.ColumnText(7))
	h.First, h.Last, h.At, h.Subject = s.ColumnInt(8), s.ColumnInt(9), s.ColumnInt64(10), s.ColumnText(11)
	if s.ColumnType(12) != sqlite3.NULL {
		status := s.ColumnInt(12)
		h.Status = &status
	}
	h.Text, h.Context, h.session = s.ColumnText(13), s.ColumnText(14), s.ColumnInt64(15)
	return h
}
