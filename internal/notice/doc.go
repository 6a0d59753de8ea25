// Package notice tells the user about events, for example that a bust has removed content. It attaches to the
// passes as a feature.
//
// It may import internal/background, internal/client, schema and store.
package notice
