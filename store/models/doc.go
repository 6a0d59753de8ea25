// Package models keeps the host's experience with models: limits, prices, windows, cache lives and token ratios.
//
// It may import store/database and store/file.
package models
