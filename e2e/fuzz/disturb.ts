import type { Machine } from "./machine.ts"
import type { Random } from "./random.ts"

export const troubles = { none: 93.1, killHost: 2, killBridge: 1, killBoth: 0.8, killBefore: 1, lock: 0.4, lockWhole: 0, lockAndKill: 0.2, hang: 0.5, outage: 1 }

export type Trouble = keyof typeof troubles

export interface Disturbance {
  /** The number of requests without a host. 0 means that the disturbance is no outage. */
  outage: number
  /** Ends the disturbance. It does not end an outage: World brings the host back after `outage` requests. */
  end(): void
}

export function disturb(machine: Machine, trouble: Trouble, random: Random, isHasty: boolean): Disturbance {
  const timers: NodeJS.Timeout[] = []
  const stopped: number[] = []
  let outage = 0
  const later = (ms: number, what: () => void) => {
    if (ms === 0) what()
    else timers.push(setTimeout(what, ms))
  }
  const pids = (is?: "host" | "bridge") => machine.processes().flatMap((p) => (is === undefined || p.is === is ? [p.pid] : []))
  const kill = (is: "host" | "bridge" | undefined, ms: number) => {
    const found = pids(is)
    later(ms, () => machine.kill(found))
  }
  const delay = random.pick([0, 1, 1, 2, 2, 3, 4, 6, 10])
  switch (trouble) {
    case "killHost":
      kill("host", delay)
      break
    case "killBridge":
      kill("bridge", delay)
      break
    case "killBoth":
      kill(undefined, delay)
      break
    case "killBefore":
      kill(random.pick(["host", undefined]), 0)
      break
    case "lock":
      if (machine.lock()) later(random.pick([50, 1200, 3000]), () => machine.unlock())
      break
    case "lockWhole":
      machine.lock()
      break
    case "lockAndKill":
      if (!machine.lock()) break
      kill("host", random.pick([3, 900, 1100]))
      later(2500, () => machine.unlock()) // a host that starts also waits for this lock
      break
    case "hang":
      stopped.push(...pids("host"))
      machine.kill(stopped, "SIGSTOP")
      if (!isHasty) later(random.pick([20, 300, 700]), () => machine.kill(stopped, "SIGCONT"))
      break
    case "outage":
      outage = random.int(1, 5)
      machine.takeAway()
      break
  }
  return {
    outage,
    end: () => {
      for (const timer of timers.splice(0)) clearTimeout(timer)
      machine.unlock()
      machine.kill(stopped.splice(0), "SIGCONT")
    },
  }
}
