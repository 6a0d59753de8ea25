package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// These tests play the scenarios of OpenCode 1 in a beta of OpenCode 2, or else in the fake.

func TestOpenCode2Invariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode2)
}

func TestOpenCode2SendsTheSameBytesTwice(t *testing.T) { testSameBytesTwice(t, schema.HarnessOpenCode2) }

func TestOpenCode2KilledHostChangesNothing(t *testing.T) {
	testKilledHostChangesNothing(t, schema.HarnessOpenCode2)
}

func TestOpenCode2MissingHostLeavesPromptsUnchanged(t *testing.T) {
	testMissingHostLeavesPromptsUnchanged(t, schema.HarnessOpenCode2)
}

func TestOpenCode2ForkBeginsWithTheRequestOfItsOriginal(t *testing.T) {
	testForkBeginsWithTheRequestOfItsOriginal(t, schema.HarnessOpenCode2)
}

func TestOpenCode2ReaderIsToldWhatItCouldDrop(t *testing.T) {
	testReaderIsToldWhatItCouldDrop(t, schema.HarnessOpenCode2)
}

func TestOpenCode2LongTurn(t *testing.T) { testLongTurn(t, schema.HarnessOpenCode2) }

func TestOpenCode2LongHistory(t *testing.T) { testLongHistory(t, schema.HarnessOpenCode2) }

func TestOpenCode2OutputsLargerThanTheWindow(t *testing.T) {
	testOutputsLargerThanTheWindow(t, schema.HarnessOpenCode2)
}

func TestOpenCode2Pressure(t *testing.T) { testPressure(t, schema.HarnessOpenCode2, pressures) }

func TestOpenCode2Overflow(t *testing.T) { testOverflow(t, schema.HarnessOpenCode2) }

func TestOpenCode2BadHistorians(t *testing.T) { testBadHistorians(t, schema.HarnessOpenCode2) }

func TestOpenCode2Expand(t *testing.T) { testExpand(t, schema.HarnessOpenCode2) }
