/** Manager and nodes that ask each other for their health, over a network that loses what goes one way or the other. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  EgressReachability,
  type NodeAnswer,
} from '../../../../src/cluster/egress/egress-reachability.ts';
import { nodes as nodeKind } from '../../../../src/api/kinds.ts';
import type { Node } from '../../../../src/api/types.ts';
import { healthAddresses } from '../../../../src/model/rules/egress-health.ts';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import { zoneFacts, type ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { EgressLeaseSource } from '../../../../src/node/egress-lease/egress-lease-source.ts';
import type { HealthMetadata } from '../../../../src/process/grpc-health.ts';
import type { ObjectView } from '../../../../src/store/informer.ts';
import { silent } from '../../../support/cluster/cluster.ts';
import { ManualClock } from '../../../support/run/manual-clock.ts';
import { ipv4Settings } from '../../../support/zone/zones.ts';

const TIMEOUT = 1000;
const LETTING_GO = 300;
const MANAGER = 'manager';

const node = (index: number): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: `n${index}`,
    labels: { 'k8s.ovn.org/egress-assignable': '' },
    annotations: {
      'k8s.ovn.org/node-subnets': JSON.stringify({ default: [`10.244.${index}.0/24`] }),
    },
  },
});
const all = (objects: readonly Node[]): ObjectView<Node> =>
  ({
    kind: nodeKind,
    get: (name: string) => objects.find(({ metadata }) => metadata.name === name),
    list: () => objects,
    onChange(handler: (change: object) => void) {
      for (const after of objects) handler({ key: after.metadata.name, before: undefined, after });
      return () => undefined;
    },
  }) as unknown as ObjectView<Node>;

const here = (name: string): EgressIp =>
  ({
    name: 'out',
    created: '',
    items: [{ node: name, address: '172.18.0.100' }],
    isHere: true,
  }) as unknown as EgressIp;

/** A cluster of so many egress nodes. */
class Network implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly facts = new Map<string, ZoneFacts>();
  readonly sources = new Map<string, EgressLeaseSource>();
  reachability: EgressReachability;
  /** `a>b`: what a sends to b gets lost. */
  readonly cut = new Set<string>();
  /** Daemons that do not run. */
  readonly dead = new Set<string>();
  latency = 5;
  /** Nodes whose addresses were given to others, which they do not know yet. */
  readonly taken = new Set<string>();
  readonly #answers = new Map<string, (seen: string | undefined) => HealthMetadata>();
  readonly #stop = new AbortController();
  #stopManager = new AbortController();
  readonly #makeManager: () => EgressReachability;
  readonly #running: Promise<void>[] = [];
  readonly #names: readonly string[];

  constructor(count: number) {
    const objects = Array.from({ length: count }, (_, index) => node(index));
    this.#names = objects.map(({ metadata }) => metadata.name);
    const view = all(objects);
    const nameOf = new Map(
      objects.flatMap((one) => healthAddresses(one).map((at) => [at, one.metadata.name])),
    );
    const connect =
      (from: string) =>
      ([address = '']: readonly string[]) => ({
        check: (seen: string | undefined, timeout: number) =>
          this.#ask(from, nameOf.get(address) ?? '', seen, timeout),
        [Symbol.dispose]: () => undefined,
      });
    for (const name of this.#names) {
      const facts = zoneFacts(name, ipv4Settings);
      facts.egressIps.put('out', here(name));
      this.facts.set(name, facts);
      const source = new EgressLeaseSource({
        node: name,
        nodes: view,
        egressIps: { list: () => [] },
        timeout: TIMEOUT,
        serve: async (address, answer) => {
          this.#answers.set(nameOf.get(address) ?? '', answer);
          return { [Symbol.dispose]: () => undefined };
        },
        connect: connect(name),
        run: name,
        log: silent,
        onChange: () => undefined,
      });
      this.sources.set(name, source);
      this.#running.push(source.start(facts, this.clock, this.#stop.signal));
    }
    this.#makeManager = () =>
      new EgressReachability({
        timeout: TIMEOUT,
        connect: connect(MANAGER),
        nodes: view,
        isEgressNode: () => true,
        isAskedToo: () => false,
        mayAcknowledge: (name) => !this.taken.has(name),
        clock: this.clock,
        log: silent,
        onChange: () => {
          for (const name of this.#names)
            if (this.reachability.of(name) === 'gone') this.taken.add(name);
        },
      });
    this.reachability = this.#makeManager();
    this.reachability.follow(this.#stopManager.signal);
  }

  stopManager(): void {
    this.#stopManager.abort();
  }

  /** Another one, which knows of nodes only what was given to others. */
  startManager(): void {
    this.#stopManager.abort();
    this.#stopManager = new AbortController();
    this.reachability = this.#makeManager();
    this.reachability.follow(this.#stopManager.signal);
  }

  #after(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.after(milliseconds, resolve);
    });
  }

  async #ask(
    from: string,
    to: string,
    seen: string | undefined,
    timeout: number,
  ): Promise<NodeAnswer> {
    const late = this.#after(timeout).then((): NodeAnswer => ({ kind: 'silent', why: 'late' }));
    const answered = async (): Promise<NodeAnswer> => {
      await this.#after(this.latency);
      if (this.cut.has(`${from}>${to}`)) return late;
      if (this.dead.has(to)) return { kind: 'refused', why: 'refused' };
      const metadata = this.#answers.get(to)?.(seen);
      await this.#after(this.latency);
      if (metadata === undefined || this.cut.has(`${to}>${from}`)) return late;
      return { kind: 'serving', metadata };
    };
    return Promise.race([answered(), late]);
  }

  leases(): readonly (string | undefined)[] {
    return this.#names.map((name) => this.facts.get(name)?.egressLease.peek()?.state);
  }

  /** Of each node, whether it may have addresses and what the manager takes it for. */
  states(): readonly string[] {
    return this.#names.map(
      (name) => `${this.facts.get(name)?.egressLease.peek()?.state} ${this.reachability.of(name)}`,
    );
  }

  /** Nodes that have addresses although the manager gives them to others. */
  both(): readonly string[] {
    return [...this.taken].filter(
      (name) => this.facts.get(name)?.egressLease.peek()?.state !== 'lost',
    );
  }

  isolate(name: string): void {
    for (const other of [MANAGER, ...this.#names])
      for (const pair of [`${name}>${other}`, `${other}>${name}`]) this.cut.add(pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#stopManager.abort();
    await this.clock.advance(TIMEOUT);
    await Promise.all(this.#running);
  }
}

test('a node says of its addresses that nobody else can have them once it was asked, and for as long as that holds, whether it looks or not', async () => {
  await using network = new Network(3);
  const isHeld = (later = 0): boolean =>
    network.sources
      .get('n0')
      ?.isHeld(network.facts.get('n0') as ZoneFacts, network.clock.monotonic() + later) ?? false;
  expect(isHeld()).toBe(false);
  await network.clock.advance(500);
  expect(isHeld()).toBe(true);
  expect(isHeld(10 * TIMEOUT)).toBe(false);
  network.isolate('n0');
  await network.clock.advance(10 * TIMEOUT);
  expect(isHeld()).toBe(false);
});

test('nodes that the manager hears have their addresses', async () => {
  await using network = new Network(3);
  expect(network.states()).toEqual(Array(3).fill('unknown unknown'));
  await network.clock.advance(500);
  expect(network.states()).toEqual(Array(3).fill('held reached'));
  await network.clock.advance(60_000);
  expect(network.states()).toEqual(Array(3).fill('held reached'));
});

test('a node that is cut off lets its addresses go before the manager takes it for gone, in less than two seconds', async () => {
  await using network = new Network(2);
  await network.clock.advance(3000);
  network.isolate('n1');
  await network.clock.advance(1100);
  expect(network.states()).toEqual(['held reached', 'lost reached']);
  await network.clock.advance(400);
  expect(network.states()).toEqual(['held reached', 'lost gone']);
  network.cut.clear();
  await network.clock.advance(10_000);
  // It is not told that it may have any: it does not know yet what others have.
  expect(network.states()).toEqual(['held reached', 'lost unknown']);
  network.taken.clear();
  await network.clock.advance(500);
  expect(network.states()).toEqual(['held reached', 'held reached']);
});

test('without a manager every node keeps what it has, without a gap', async () => {
  await using network = new Network(5);
  await network.clock.advance(3000);
  network.stopManager();
  for (let at = 0; at < 30_000; at += 20) {
    await network.clock.advance(20);
    for (const facts of network.facts.values())
      expect(facts.egressLease.peek()?.state).toBe('held');
  }
});

test('a node looks only when something may have changed: where it is heard, or has nothing to keep', async () => {
  let looks = 0;
  const view = all([node(0)]);
  const counted = { ...view, get: (name: string) => (looks++, view.get(name)) };
  let answer: ((seen: string | undefined) => HealthMetadata) | undefined;
  const facts = zoneFacts('n0', ipv4Settings);
  const clock = new ManualClock();
  const stop = new AbortController();
  const running = new EgressLeaseSource({
    node: 'n0',
    nodes: counted,
    egressIps: { list: () => [] },
    timeout: TIMEOUT,
    serve: async (_address, answered) => {
      answer = answered;
      return { [Symbol.dispose]: () => undefined };
    },
    connect: () => {
      throw new Error('nobody is to be asked');
    },
    run: 'n0',
    log: silent,
    onChange: () => undefined,
  }).start(facts, clock, stop.signal);
  const looksIn = async (milliseconds: number, isAsked: boolean): Promise<number> => {
    looks = 0;
    let token: string | undefined;
    for (let at = 0; at < milliseconds; at += 150) {
      if (isAsked) token = answer?.(token).token;
      await clock.advance(150);
    }
    return looks;
  };
  await clock.advance(3000);
  // Nobody asks.
  expect(await looksIn(15_000, false)).toBeLessThanOrEqual(16);
  const first = answer?.(undefined).token;
  answer?.(first);
  await clock.advance(0);
  expect(facts.egressLease.peek()?.state).toBe('held');
  expect(await looksIn(15_000, true)).toBeLessThanOrEqual(60);
  expect(facts.egressLease.peek()?.state).toBe('held');
  stop.abort();
  await running;
});

/** The nodes don't hear each other for a while, as on a machine that is short of processors. */
async function deaf(network: Network, milliseconds: number): Promise<void> {
  for (const from of network.facts.keys())
    for (const to of network.facts.keys()) network.cut.add(`${from}>${to}`);
  await network.clock.advance(milliseconds);
  network.cut.clear();
}

test('nodes that had to let go without a manager, as they did not hear each other, have their addresses again once they do', async () => {
  for (const begin of [0, 500, 900, 20_000]) {
    await using network = new Network(3);
    await network.clock.advance(3000);
    network.stopManager();
    await network.clock.advance(begin);
    await deaf(network, 3000);
    expect(network.leases()).toEqual(Array(3).fill('lost'));
    await network.clock.advance(700);
    expect(network.leases()).toEqual(Array(3).fill('held'));
  }
});

test('a node whose addresses were given to others before the manager went has none again', async () => {
  await using network = new Network(3);
  await network.clock.advance(3000);
  network.isolate('n2');
  await network.clock.advance(2000);
  expect([...network.taken]).toEqual(['n2']);
  network.stopManager();
  network.cut.clear();
  await network.clock.advance(30_000);
  expect(network.leases()).toEqual(['held', 'held', 'lost']);
});

test('a node that answers while its answers are lost lets its addresses go, too', async () => {
  await using network = new Network(3);
  await network.clock.advance(3000);
  network.cut.add(`n2>${MANAGER}`);
  await network.clock.advance(1500);
  expect(network.states()).toEqual(['held reached', 'held reached', 'lost gone']);
});

test('a node whose daemon is gone can let nothing go: it is not taken for gone, then or when it falls silent', async () => {
  await using network = new Network(3);
  await network.clock.advance(3000);
  network.dead.add('n2');
  await network.clock.advance(5000);
  expect(network.reachability.of('n2')).toBe('unknown');
  network.isolate('n2');
  await network.clock.advance(5000);
  expect(network.reachability.of('n2')).toBe('unknown');
});

test('a manager that hears less than half of the nodes gives away nothing', async () => {
  await using network = new Network(5);
  await network.clock.advance(3000);
  for (const name of ['n2', 'n3', 'n4'])
    for (const pair of [`${name}>${MANAGER}`, `${MANAGER}>${name}`]) network.cut.add(pair);
  await network.clock.advance(10_000);
  expect(network.states()).toEqual([
    'held reached',
    'held reached',
    'held unknown',
    'held unknown',
    'held unknown',
  ]);
});

test(
  'whatever gets lost, no node has its addresses when they are given to others',
  { timeout: 120_000 },
  async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 5 }),
        fc.array(
          fc.record({
            after: fc.integer({ min: 1, max: 1500 }),
            change: fc.oneof(
              fc.record({ kind: fc.constant('isolate' as const), node: fc.nat(4) }),
              fc.record({ kind: fc.constant('cut' as const), from: fc.nat(5), to: fc.nat(5) }),
              fc.record({ kind: fc.constant('heal' as const) }),
              fc.record({ kind: fc.constant('known' as const) }),
              fc.record({ kind: fc.constant('manager' as const), starts: fc.boolean() }),
              fc.record({
                kind: fc.constant('latency' as const),
                latency: fc.integer({ min: 1, max: 120 }),
              }),
            ),
          }),
          { minLength: 3, maxLength: 12 },
        ),
        async (count, steps) => {
          await using network = new Network(count);
          const called = (index: number): string => (index === 5 ? MANAGER : `n${index % count}`);
          await network.clock.advance(2500);
          for (const { after, change } of steps) {
            if (change.kind === 'isolate') network.isolate(`n${change.node % count}`);
            else if (change.kind === 'cut')
              network.cut.add(`${called(change.from)}>${called(change.to)}`);
            else if (change.kind === 'heal') network.cut.clear();
            else if (change.kind === 'known') network.taken.clear();
            else if (change.kind === 'manager')
              if (change.starts) network.startManager();
              else network.stopManager();
            else network.latency = change.latency;
            for (let at = 0; at < after + LETTING_GO; at += 50) {
              await network.clock.advance(50);
              expect(network.both()).toEqual([]);
              taken += network.taken.size;
            }
          }
        },
      ),
      { numRuns: 60 },
    );
    expect(taken).toBeGreaterThan(0);
  },
);
