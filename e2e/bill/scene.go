package main

import (
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/schema"
)

type scene struct {
	name  string
	turns int
	// OpenCode compacts when the prompt reaches Context - Output tokens.
	limits opencodetest.Limits
	// maxRatios contains the largest allowed bill for each value of the `spending` setting, as a multiple of the bill
	// with OpenCode's own compaction. Both bills include answers and the historian. If cached tokens cost less than
	// usual, the method maxRatio returns 1 instead.
	maxRatios map[schema.Spending]float64
	maxBusts  int
	// minKnown is the smallest allowed share of the story's needles that the model still knows at the end. The model
	// knows a needle if the last prompt contains it, or if magicctx adds it when the user asks for it.
	minKnown float64
	// In a mixed scene, some steps have 20 times as many tokens as others.
	isMixed bool
	// If `asks` is true, a model that has ctx_reduce asks to drop tags.
	asks bool
	// `pauses` lists turns. Before each of them, the user waits until the provider's cache is gone. From the turn
	// `switchAt` on, another model answers. 0 means that the model never changes.
	pauses   []int
	switchAt int
	coldHead bool
}

var scenes = []scene{
	{
		name: "64k", turns: 60, limits: opencodetest.Limits{Context: 64_000, Output: 8_192}, maxBusts: 25, minKnown: 0.6,
		maxRatios: ratios(0.85, 0.85, 0.88),
	},
	{
		name: "200k", turns: 80, limits: opencodetest.Limits{Context: 200_000, Output: 8_192}, maxBusts: 40,
		maxRatios: ratios(0.58, 0.70, 0.85),
	},
	million("1m", false),
	million("1m-drops", true),
}

func million(name string, asks bool) scene {
	return scene{
		name: name, turns: 120, limits: opencodetest.Limits{Context: 1_000_000, Output: 8_192}, maxBusts: 60,
		maxRatios: ratios(0.30, 0.40, 1.01), isMixed: true, asks: asks, pauses: []int{31, 91}, switchAt: 61,
	}
}

func ratios(frugal, balanced, generous float64) map[schema.Spending]float64 {
	return map[schema.Spending]float64{schema.SpendingFrugal: frugal, schema.SpendingBalanced: balanced, schema.SpendingGenerous: generous}
}

func (s scene) maxRatio(spending schema.Spending, reads float64) float64 {
	if reads < usualReads {
		return 1
	}
	return s.maxRatios[spending]
}

// OpenCode 2's compaction keeps only 8,000 tokens of messages, with shortened outputs. So it is cheaper than OpenCode
// 1's, and magicctx saves less. In OpenCode 2, the plugin sets no breakpoint after the head, so a bust that keeps the
// baseline may not read all of it from the cache (coldHead).
func (s scene) ofVersion2() scene {
	s.maxRatios, s.coldHead = ratios(1, 1, 1), true
	return s
}

// Without magicctx, the model does not have ctx_reduce.
func (s scene) alone() scene {
	s.name, s.asks, s.maxRatios = "", false, nil
	return s
}

func (s scene) story(project string) story {
	return story{project: project, turns: s.turns, isMixed: s.isMixed, asks: s.asks}
}

// The name "" means all scenes.
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
