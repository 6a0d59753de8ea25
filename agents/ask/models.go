package ask

import (
	"slices"
	"strings"
)

// Split splits "provider/model" at the first slash, because names of models may contain slashes:
// "openrouter/qwen/qwen3" is the model "qwen/qwen3". If either side has no text, ok is false.
func Split(name string) (provider, model string, ok bool) {
	provider, model, ok = strings.Cut(strings.TrimSpace(name), "/")
	return provider, model, ok && provider != "" && model != ""
}

// Models returns the models to try, in order. It skips repetitions, and names that are not "provider/model".
func Models(names ...string) []string {
	var models []string
	for _, name := range names {
		name = strings.TrimSpace(name)
		if _, _, ok := Split(name); ok && !slices.Contains(models, name) {
			models = append(models, name)
		}
	}
	return models
}
