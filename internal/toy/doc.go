// Package toy asks a hidden agent one question for each project.
//
// It may import nothing of this module.
package toy
