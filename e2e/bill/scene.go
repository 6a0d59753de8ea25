package main

import (
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

// A scene is a window, the length of the story that is told in it, and the bounds that magicctx must keep in
// it.
type scene struct {
	name  string
	turns int
	// limits of the model. OpenCode compacts when a step's prompt has reached Context - Output tokens.
	limits opencodetest.Limits
	// maxRatio bounds the bill of magicctx as a multiple of the bill with OpenCode's own compaction,
	// answers and the historian's requests included.
	maxRatio float64
	maxBusts int
	// isMixed varies the sizes of outputs and answers, so that some steps take 20 times the tokens of others.
	isMixed bool
	// pauses lists the turns before which the user waits for longer than the provider keeps the prompt. From
	// the turn switchAt on, another model answers. It is 0 if the model never changes.
	pauses   []int
	switchAt int
}

var scenes = []scene{
	{name: "64k", turns: 60, limits: opencodetest.Limits{Context: 64_000, Output: 8_192}, maxRatio: 0.88, maxBusts: 25},
	{name: "200k", turns: 80, limits: opencodetest.Limits{Context: 200_000, Output: 8_192}, maxRatio: 0.85, maxBusts: 6},
	{
		name: "1m", turns: 120, limits: opencodetest.Limits{Context: 1_000_000, Output: 8_192}, maxRatio: 0.40, maxBusts: 40,
		isMixed: true, pauses: []int{31, 91}, switchAt: 61,
	},
}

// story returns the story of the scene, told in a project.
func (s scene) story(project string) story {
	return story{project: project, turns: s.turns, isMixed: s.isMixed}
}

// scenesNamed returns the scene with this name, or all of them for "".
func scenesNamed(name string) ([]scene, error) {
	if name == "" {
		return scenes, nil
	}
	var names []string
	for _, s := range scenes {
		if s.name == name {
			return []scene{s}, nil
		}
		names = append(names, s.name)
	}
	return nil, fmt.Errorf("-scene is %q, want %s", name, strings.Join(names, " or "))
}
