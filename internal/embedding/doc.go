// Package embedding gives vectors to texts. They come from an OpenAI-compatible service that the user has configured.
//
// It may import internal/config, internal/format, internal/json, internal/secret, schema and store/index.
package embedding
