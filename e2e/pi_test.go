package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// These tests run OpenCode's scenarios in Pi, with the same assertions on the requests.

func TestPiSendsTheSameBytesTwice(t *testing.T) { testSameBytesTwice(t, schema.HarnessPi) }

func TestPiLongSessions(t *testing.T) { testLongSessions(t, schema.HarnessPi) }

func TestPiKilledHostChangesNothing(t *testing.T) {
	testKilledHostChangesNothing(t, schema.HarnessPi)
}

func TestPiMissingHostLeavesPromptsUnchanged(t *testing.T) {
	testMissingHostLeavesPromptsUnchanged(t, schema.HarnessPi)
}

func TestPiForkBeginsWithTheRequestOfItsOriginal(t *testing.T) {
	testForkBeginsWithTheRequestOfItsOriginal(t, schema.HarnessPi)
}

func TestPiTemplateIsNotTheUsersWords(t *testing.T) { testTemplateIsNotTheUser(t, schema.HarnessPi) }

func TestPiBadHistorians(t *testing.T) { testBadHistorians(t, schema.HarnessPi) }

func TestPiOutputsLargerThanTheWindow(t *testing.T) {
	testOutputsLargerThanTheWindow(t, schema.HarnessPi)
}

func TestPiLongTurn(t *testing.T) { testLongTurn(t, schema.HarnessPi) }

func TestPiLongHistory(t *testing.T) { testLongHistory(t, schema.HarnessPi) }

func TestPiUsersCompaction(t *testing.T) { testUsersCompaction(t, schema.HarnessPi) }

func TestPiErrands(t *testing.T) { testErrands(t, schema.HarnessPi) }

func TestPiHead(t *testing.T) { testHead(t, schema.HarnessPi) }

func TestPiExpand(t *testing.T) { testExpand(t, schema.HarnessPi) }

func TestPiReaderIsToldWhatItCouldDrop(t *testing.T) {
	testReaderIsToldWhatItCouldDrop(t, schema.HarnessPi)
}

func TestPiPressure(t *testing.T) { testPressure(t, schema.HarnessPi, pressures) }

func TestPiOverflow(t *testing.T) { testOverflow(t, schema.HarnessPi) }

func TestPiBoundThinking(t *testing.T) { testBoundThinking(t, schema.HarnessPi, bound) }

func TestPiBoundThinkingAfterAGap(t *testing.T) { testBoundThinkingAfterAGap(t, schema.HarnessPi) }

func TestPiBoundThinkingAfterARestart(t *testing.T) {
	testBoundThinkingAfterARestart(t, schema.HarnessPi)
}

func TestPiBoundThinkingWithAKilledHost(t *testing.T) {
	testBoundThinkingWithAKilledHost(t, schema.HarnessPi)
}

func TestPiWindowIsLearnedFromTheProvider(t *testing.T) {
	if suite.Pi() == pitest.V074 {
		t.Skip("0.74 repeats the refused request within the turn; 0.87 finds nothing to compact in a short session")
	}
	testWindowIsLearnedFromTheProvider(t, schema.HarnessPi)
}

func TestPiInvariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessPi)
}
