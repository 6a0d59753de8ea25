// Package keyfiles finds the files that a project's sessions read most, and outlines them. An outline lists what a
// file declares, for example "func Serve(ctx context.Context) error".
//
// The project may come from a stranger, and the paths come from models. So the package reads only regular text files
// of limited size inside the project, and follows no link out of it.
//
// It may import internal/clock, internal/project, internal/regular, internal/secret, pipeline/history and
// store/index.
package keyfiles
