package schema

import (
	"reflect"
	"strings"
)

// Methods that a shim calls in the host.
const (
	MethodInitialize     = "initialize"
	MethodShutdown       = "shutdown"
	MethodTransform      = "session/transform"
	MethodSystem         = "session/system"
	MethodEvent          = "session/event"
	MethodTextComplete   = "text/complete"
	MethodToolExecute    = "tool/execute"
	MethodCommandExecute = "command/execute"
	MethodCancel         = "$/cancelRequest"
)

// Methods for clients that show the state of the host and act on it, such as
// `magicctx-host status`.
const (
	MethodVersion          = "version"
	MethodStatus           = "status"
	MethodSessionStatus    = "session/status"
	MethodSessionSubscribe = "session/subscribe"
	MethodSessionExport    = "session/export"
	MethodSessionKeep      = "session/keep"
)

// Methods that the host calls in a shim.
const (
	MethodAgentRun       = "agent/run"
	MethodAgentAbort     = "agent/abort"
	MethodNotifyShow     = "notify/show"
	MethodModelLimits    = "models/limits"
	MethodSessionChanged = "session/changed"
)

// A Caller says which end of a connection calls a method.
type Caller string

// FromShim also means every other client, for example `magicctx-host status`, which only reads the host's state.
const (
	FromShim Caller = "shim"
	FromHost Caller = "host"
	FromBoth Caller = "both"
)

// A MethodType binds the name of a method to its caller and its types. A
// notification has no result.
type MethodType struct {
	Name   string
	Caller Caller
	Params reflect.Type
	Result reflect.Type // nil for a notification
}

// GoldenPath returns the path of the method's golden in testdata, for example
// "method/session.system.json".
func (m MethodType) GoldenPath() string {
	return "method/" + strings.ReplaceAll(strings.TrimPrefix(m.Name, "$/"), "/", ".") + ".json"
}

func request[P, R any](name string, c Caller) MethodType {
	return MethodType{name, c, reflect.TypeFor[P](), reflect.TypeFor[R]()}
}

func notification[P any](name string, c Caller) MethodType {
	return MethodType{name, c, reflect.TypeFor[P](), nil}
}

// Methods is the method table: the whole protocol. The TypeScript types and the
// JSON Schema are generated from it, and the server's dispatch is tested
// against it.
var Methods = []MethodType{
	request[InitializeParams, InitializeResult](MethodInitialize, FromShim),
	request[ShutdownParams, Empty](MethodShutdown, FromShim),
	request[TransformParams, WireMutation](MethodTransform, FromShim),
	request[SystemParams, SystemResult](MethodSystem, FromShim),
	notification[EventParams](MethodEvent, FromShim),
	request[TextCompleteParams, TextCompleteResult](MethodTextComplete, FromShim),
	request[ToolExecuteParams, ToolExecuteResult](MethodToolExecute, FromShim),
	request[CommandExecuteParams, CommandExecuteResult](MethodCommandExecute, FromShim),

	request[VersionParams, VersionResult](MethodVersion, FromShim),
	request[StatusParams, StatusResult](MethodStatus, FromShim),
	request[SessionStatusParams, SessionStatus](MethodSessionStatus, FromShim),
	request[SubscribeParams, Empty](MethodSessionSubscribe, FromShim),
	request[SessionExportParams, SessionExport](MethodSessionExport, FromShim),
	request[KeepParams, KeepResult](MethodSessionKeep, FromShim),

	request[AgentRunParams, AgentRunResult](MethodAgentRun, FromHost),
	request[AgentAbortParams, Empty](MethodAgentAbort, FromHost),
	request[NotifyShowParams, Empty](MethodNotifyShow, FromHost),
	request[ModelLimitsParams, ModelLimits](MethodModelLimits, FromHost),
	notification[SessionStatus](MethodSessionChanged, FromHost),

	notification[CancelParams](MethodCancel, FromBoth),
}
