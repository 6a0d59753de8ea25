package page

import (
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
)

// A Timeline is the chart of a running session. For each request, it shows how many tokens of the prompt come from each
// source, and how many the provider read from its cache or wrote to it. It also shows the bill and the busts.
type Timeline struct {
	Requests, Busts int
	HitRate         string
	// If no price is known, Bill is empty, and Costs has no curves.
	Bill    string
	Context plot
	Cache   plot
	Costs   plot
	// Parts is the legend of the plot Context, and Legend is the legend of the plot Cache. Both show the values of the
	// newest request.
	Parts   []reading
	Legend  []reading
	Marks   []mark // of the x-axis
	Markers []marker
	Causes  []causeCount
	// `Each` is the number of requests that one column of the chart stands for.
	Each int
}

func NewTimeline(passes []*replay.Pass) Timeline {
	v := newSessionView("", "", passes, nil, 0)
	t := Timeline{
		Requests: v.Passes, Busts: v.Busts, HitRate: v.HitRate, Cache: v.Cache, Legend: v.CacheValues,
		Marks: v.PassMarks, Markers: v.Markers, Causes: v.Causes, Each: v.Each,
	}
	top, _ := scale(passes)
	t.Context = stack(passes, journalSeries, columnsOf(len(passes)), top, fullest)
	for _, s := range journalSeries {
		if tokens := s.of(passes[len(passes)-1]); tokens > 0 {
			t.Parts = append(t.Parts, reading{s, format.Tokens(tokens)})
		}
	}
	for _, p := range passes {
		if p.Bill > 0 {
			t.Bill, t.Costs = v.Bill, v.Costs
			break
		}
	}
	return t
}
