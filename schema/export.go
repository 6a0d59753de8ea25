package schema

import "github.com/magicctx/magicctx-host/internal/json"

// SessionExportParams asks for all state of the host that influences the answer to a session's next transform. The
// recorder of a trace sends it before the session's first transform. The attachment of the frame is the message array
// of that transform.
type SessionExportParams struct {
	Harness   Harness `json:"harness"`
	Session   string  `json:"session"`
	Directory string  `json:"directory"`
	// Parent is the session that spawned this one. It is empty for a primary
	// session.
	Parent string `json:"parent,omitzero"`
	// Original is the session from which the harness has copied this one, if the harness reports it. The host exports
	// the original, too. If Original is empty, the host looks for an original whose messages equal the attachment.
	Original string `json:"original,omitzero"`
	// Messages is the attachment.
	Messages json.Value `json:"-"`
}

// SessionExport is the host's state that concerns a session.
type SessionExport struct {
	// Config is the configuration of the directory. Its form is internal to the host.
	Config json.Value `json:"config"`
	// Passes counts the session's passes so far.
	Passes int `json:"passes"`
	// Tables hold the rows of the session, and the rows of all models. If the session is a fork that has not had a pass
	// yet, they also hold the rows of its original.
	Tables []ExportedTable `json:"tables"`
}

// ExportedTable holds rows of one table of the store. Each value is null, a
// number or a string.
type ExportedTable struct {
	Name    string         `json:"name"`
	Columns []string       `json:"columns"`
	Rows    [][]json.Value `json:"rows"`
}
