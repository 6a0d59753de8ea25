// Package chronicle defines the values of a session's history: ranges of messages, the compartments that summarise
// them, and the memories of the project. The historian makes them, the store keeps them, and the pipeline shows them.
//
// It may import nothing of this module.
package chronicle
