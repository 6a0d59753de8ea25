// Package chronicle defines the values of a session's history: ranges of messages, the compartments that summarise
// them, the memories of the project, and the calls of hidden agents. The historian makes these values, the store
// keeps them, and the pipeline shows them.
//
// It may import nothing of this module.
package chronicle
