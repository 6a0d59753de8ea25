// Package sidekick finds out what a coding agent should know for the user's next message. A model first chooses words to
// search for, and then writes findings from the results. Code then checks each finding. A finding must name a result that
// the model was shown, and repeat some of that result's words. It must not contain a name or a number that is not in the
// result.
//
// The model has no tools: it answers with the words of its searches, and the host searches. So it cannot read another
// project, and its cost has a bound.
//
// The package reads no store and changes nothing: the host gives it the search, and attaches the findings.
//
// It may import agents/ask, internal/terms and internal/tokens.
package sidekick
