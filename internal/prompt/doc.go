// Package prompt writes the texts that the model gets besides the conversation: the guidance and the date in the
// system prompt, and reminders. It is a pass.Feature.
//
// It may import internal/client, internal/clock, internal/format, internal/json, internal/learn, internal/mode, internal/model,
// internal/pass, internal/session, internal/tokens, pipeline, pipeline/transcript, schema and store.
package prompt
