// Package embedding gives vectors to texts. An OpenAI-compatible service, which the user has configured, computes the
// vectors.
//
// It may import internal/config, internal/format, internal/json, internal/secret, schema and store/index.
package embedding
