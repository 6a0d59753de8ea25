package transcript

import "github.com/magicctx/magicctx-host/internal/json"

type Event struct {
	Kind EventKind
	// Session is the session in the event, or "".
	Session string
	// Title is the new title of a session.
	Title string
	// Message is the changed answer, without its parts. If it was removed, Message has only a key.
	Message Message
	// Error is the harness's report of a failed request.
	Error json.Value
}

type EventKind uint8

const (
	// OtherEvent: the host does not use the event.
	OtherEvent EventKind = iota
	// SessionTitled: the title of a session may have changed.
	SessionTitled
	// SessionCompacted: the harness has compacted a session by itself.
	SessionCompacted
	// SessionDeleted: the harness has deleted a session.
	SessionDeleted
	// MessageRemoved: the harness has deleted a message.
	MessageRemoved
	// MessageChanged: a message is new or has changed. The host uses only changes of answers.
	MessageChanged
	// RequestFailed: a request failed, and no answer reports the failure.
	RequestFailed
)
