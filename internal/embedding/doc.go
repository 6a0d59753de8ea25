// Package embedding gives vectors to texts. An OpenAI-compatible service that the user has configured computes them.
//
// It may import internal/config, internal/format, internal/json, internal/secret, schema and store/index.
package embedding
