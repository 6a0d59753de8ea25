import assert from "node:assert/strict"
import { test } from "node:test"
import { encodeFrame, FrameError, FrameReader, MaxBodyBytes, type Frame } from "../src/index.ts"
import { Random } from "./random.ts"
import { vectors } from "./vectors.ts"

interface Vector {
  about: string
  body: string
  attachment?: string
  wire: string
}

const seen = ({ body, attachment }: Frame) => ({ body, ...(attachment && { attachment: attachment.toString("utf8") }) })

function read(...chunks: Buffer[]): ReturnType<typeof seen>[] {
  const frames: ReturnType<typeof seen>[] = []
  const reader = new FrameReader((frame) => frames.push(seen(frame)))
  for (const chunk of chunks) reader.push(chunk)
  return frames
}

for (const [name, { about, body, attachment, wire }] of vectors<Vector>("frame")) {
  const frame = { body, ...(attachment !== undefined && { attachment }) }
  test(`frame ${name}: ${about}`, () => {
    assert.equal(encodeFrame(body, attachment).toString("utf8"), wire)
    assert.deepEqual(read(Buffer.from(wire)), [frame])
  })
  test(`frame ${name}, byte by byte`, () => {
    assert.deepEqual(read(...Array.from(Buffer.from(wire), (byte) => Buffer.from([byte]))), [frame])
  })
}

test("frames survive any chunking", () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = new Random(seed)
    const frames = Array.from({ length: 1 + random.below(4) }, () => ({
      body: JSON.stringify(random.json(3)),
      ...(random.chance(0.5) && { attachment: JSON.stringify(random.json(3)) }),
    }))
    const wire = Buffer.concat(frames.map(({ body, attachment }) => encodeFrame(body, attachment)))
    const chunks: Buffer[] = []
    for (let at = 0; at < wire.length; ) {
      const size = 1 + random.below(60)
      chunks.push(wire.subarray(at, at + size))
      at += size
    }
    assert.deepEqual(read(...chunks), frames, `seed ${seed}`)
  }
})

test("a stream that is out of step is an error", () => {
  for (const wire of ["{}\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 1x\r\n\r\n", `Content-Length: ${MaxBodyBytes + 1}\r\n\r\n`, "x".repeat(2000)]) {
    assert.throws(() => read(Buffer.from(wire)), FrameError, wire.slice(0, 40))
  }
})

test("header names have no case, unknown headers are skipped", () => {
  assert.deepEqual(read(Buffer.from("content-type: x\r\nCONTENT-LENGTH:2\r\n\r\n{}")), [{ body: "{}" }])
})

test("a body that the host would refuse is not sent", () => {
  assert.throws(() => encodeFrame("x".repeat(MaxBodyBytes + 1)), FrameError)
})
