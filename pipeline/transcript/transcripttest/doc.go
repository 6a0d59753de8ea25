// Package transcripttest translates conversations between harnesses, so that tests can play one conversation in all of
// them.
//
// It may import internal/json and pipeline/transcript.
package transcripttest
