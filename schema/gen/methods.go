package main

import (
	"reflect"

	"github.com/magicctx/magicctx-host/schema"
)

// A direction says which side calls a method.
type direction string

const (
	toHost direction = "toHost"
	toShim direction = "toShim"
)

// A method binds a name to the types of its parameters and its result. A
// notification has no result.
type method struct {
	name   string
	from   []direction
	params reflect.Type
	result reflect.Type
}

func call[P, R any](name string, d direction) method {
	return method{name, []direction{d}, reflect.TypeFor[P](), reflect.TypeFor[R]()}
}

func notification[P any](name string, d ...direction) method {
	return method{name, d, reflect.TypeFor[P](), nil}
}

// methods is the whole protocol. A test compares it with the Method constants.
var methods = []method{
	call[schema.InitializeParams, schema.InitializeResult](schema.MethodInitialize, toHost),
	call[schema.Empty, schema.Empty](schema.MethodShutdown, toHost),
	call[schema.TransformParams, schema.WireMutation](schema.MethodTransform, toHost),
	call[schema.SystemParams, schema.SystemResult](schema.MethodSystem, toHost),
	notification[schema.EventParams](schema.MethodEvent, toHost),
	call[schema.ChatMessageParams, schema.ChatMessageResult](schema.MethodChatMessage, toHost),
	call[schema.TextCompleteParams, schema.TextCompleteResult](schema.MethodTextComplete, toHost),
	call[schema.ToolBeforeParams, schema.ToolBeforeResult](schema.MethodToolBefore, toHost),
	call[schema.ToolAfterParams, schema.ToolAfterResult](schema.MethodToolAfter, toHost),
	call[schema.ToolExecuteParams, schema.ToolExecuteResult](schema.MethodToolExecute, toHost),
	call[schema.CommandExecuteParams, schema.CommandExecuteResult](schema.MethodCommandExecute, toHost),

	call[schema.StatusParams, schema.StatusResult](schema.MethodStatus, toHost),
	call[schema.SessionStatusParams, schema.SessionStatus](schema.MethodSessionStatus, toHost),
	call[schema.SubscribeParams, schema.Empty](schema.MethodSessionSubscribe, toHost),

	call[schema.AgentRunParams, schema.AgentRunResult](schema.MethodAgentRun, toShim),
	call[schema.AgentAbortParams, schema.Empty](schema.MethodAgentAbort, toShim),
	call[schema.HistoryReadParams, schema.HistoryReadResult](schema.MethodHistoryRead, toShim),
	call[schema.NotifyShowParams, schema.Empty](schema.MethodNotifyShow, toShim),
	call[schema.MessageSendParams, schema.Empty](schema.MethodMessageSend, toShim),
	call[schema.ModelLimitsParams, schema.ModelLimits](schema.MethodModelLimits, toShim),
	notification[schema.SessionStatus](schema.MethodSessionChanged, toShim),

	notification[schema.CancelParams](schema.MethodCancel, toHost, toShim),
}

func (m method) is(d direction) bool {
	for _, from := range m.from {
		if from == d {
			return true
		}
	}
	return false
}

func protocolTypes() []reflect.Type {
	var types []reflect.Type
	for _, m := range methods {
		types = append(types, m.params)
		if m.result != nil {
			types = append(types, m.result)
		}
	}
	return types
}
