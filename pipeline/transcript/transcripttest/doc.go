// Package transcripttest translates conversations between harnesses, so that tests can play
// one conversation in all of them.
//
// It may import pipeline/transcript and internal/json.
package transcripttest
