// Package notice tells the user about events, for example that a bust has removed content.
//
// It may import internal/background, internal/client, schema and store.
package notice
