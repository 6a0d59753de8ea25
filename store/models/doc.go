// Package models keeps what the host has learned about models: limits, prices, windows, cache lives and token ratios.
//
// It may import store/database and store/file.
package models
