/** Manager and nodes that ask each other for their health, over a network that loses what goes one way or the other. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  EgressReachability,
  hasLetGo,
  type NodeAnswer,
} from '../../../../src/cluster/egress/egress-reachability.ts';
import { nodes as nodeKind } from '../../../../src/api/kinds.ts';
import type { Node } from '../../../../src/api/types.ts';
import { EGRESS_FENCE, healthAddresses } from '../../../../src/model/rules/egress-health.ts';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import { zoneFacts, type ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { EgressFenceSource } from '../../../../src/node/egress-lease/egress-fence-source.ts';
import { EgressLeaseSource } from '../../../../src/node/egress-lease/egress-lease-source.ts';
import type { HealthMetadata, HealthQuestion } from '../../../../src/process/grpc-health.ts';
import type { Clock } from '../../../../src/store/clock.ts';
import type { ObjectView } from '../../../../src/store/informer.ts';
import { silent } from '../../../support/cluster/cluster.ts';
import { ManualClock } from '../../../support/run/manual-clock.ts';
import { ipv4Settings } from '../../../support/zone/zones.ts';

const TIMEOUT = 1000;
const LETTING_GO = 300;
/** Within this time a manager has seen whether a host is there without its daemon. */
const NOTICED = 2000;
/** By which Open vSwitch may remove a flow too late. */
const LATE = 2900;
const MANAGER = 'manager';

/** Who was the daemon of each node, as Leases say. */
const daemonOf = (name: string): string => `daemon of ${name}`;

const node = (index: number, fence?: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: `n${index}`,
    labels: { 'k8s.ovn.org/egress-assignable': '' },
    annotations: {
      ...(fence === undefined ? {} : { 'k8s.ovn.org/egress-fence': fence }),
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

/** The clock of a process that may stand still. */
class ProcessClock implements Clock {
  readonly #clock: ManualClock;
  #due: (() => void)[] | undefined;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(milliseconds: number, run: () => void): () => void {
    let isCancelled = false;
    const cancel = this.#clock.after(milliseconds, () => {
      const due = (): void => {
        if (!isCancelled) run();
      };
      if (this.#due === undefined) due();
      else this.#due.push(due);
    });
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  get stands(): boolean {
    return this.#due !== undefined;
  }

  stop(): void {
    this.#due ??= [];
  }

  goOn(): void {
    const due = this.#due ?? [];
    this.#due = undefined;
    for (const run of due) run();
  }
}

/** A node: its facts and its data plane outlive its daemon. */
interface SimulatedNode {
  readonly facts: ZoneFacts;
  /** Until when its data plane has egress addresses. */
  openUntil: number;
  clock: ProcessClock;
  stop: AbortController;
  answer: ((question: HealthQuestion) => HealthMetadata) | undefined;
  lease: EgressLeaseSource | undefined;
}

/** A cluster of so many egress nodes. */
class Network implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly nodes = new Map<string, SimulatedNode>();
  reachability: EgressReachability;
  /** `a>b`: what a sends to b gets lost. */
  readonly cut = new Set<string>();
  /** Daemons that do not run. */
  readonly dead = new Set<string>();
  latency = 5;
  /** Nodes have addresses at other network cards, too. */
  /** Another node could have what one has. */
  mayMove = true;
  /** Nodes whose addresses were given to others, which they do not know yet. */
  readonly taken = new Set<string>();
  #stopManager = new AbortController();
  readonly #makeManager: () => EgressReachability;
  readonly #running: Promise<void>[] = [];
  readonly #names: readonly string[];
  readonly #view: ObjectView<Node>;
  readonly #nameOf: ReadonlyMap<string, string>;
  #runs = 0;

  /** `written`: what nodes have written down of their fence. */
  constructor(count: number, written?: string) {
    const objects = Array.from({ length: count }, (_, index) => node(index, written));
    this.#names = objects.map(({ metadata }) => metadata.name);
    this.#view = all(objects);
    this.#nameOf = new Map(
      objects.flatMap((one) => healthAddresses(one).map((at) => [at, one.metadata.name])),
    );
    for (const name of this.#names) {
      const facts = zoneFacts(name, ipv4Settings);
      facts.egressIps.put('out', here(name));
      this.nodes.set(name, {
        facts,
        // What a daemon before left open.
        openUntil: EGRESS_FENCE,
        clock: new ProcessClock(this.clock),
        stop: new AbortController(),
        answer: undefined,
        lease: undefined,
      });
      this.#startDaemon(name);
    }
    this.#makeManager = () =>
      new EgressReachability({
        timeout: TIMEOUT,
        connect: this.#connect(MANAGER),
        nodes: this.#view,
        isEgressNode: () => true,
        isAskedToo: () => false,
        mayAcknowledge: (name) => !this.taken.has(name),
        mayMove: () => this.mayMove,
        daemonOf,
        clock: this.clock,
        log: silent,
        onChange: () => {
          for (const name of this.#names)
            if (hasLetGo(this.reachability.of(name))) this.taken.add(name);
        },
      });
    this.reachability = this.#makeManager();
    this.reachability.follow(this.#stopManager.signal);
  }

  #connect(from: string): (
    addresses: readonly string[],
    onThere?: () => void,
  ) => {
    check(question: HealthQuestion, timeout: number): Promise<NodeAnswer>;
    [Symbol.dispose](): void;
  } {
    return ([address = ''], onThere = () => undefined) => ({
      check: (question, timeout) =>
        this.#ask(from, this.#nameOf.get(address) ?? '', { question, timeout, onThere }),
      [Symbol.dispose]: () => undefined,
    });
  }

  #startDaemon(name: string): void {
    const one = this.#node(name);
    const { facts, clock, stop } = one;
    this.#runs += 1;
    const fence = new EgressFenceSource({
      node: name,
      fence: {
        open: async (_bridge, term) => {
          one.openUntil =
            term === 'lasting' ? Infinity : this.clock.monotonic() + EGRESS_FENCE + LATE;
        },
        close: async () => {
          one.openUntil = this.clock.monotonic();
        },
        termOf: async () => {
          if (one.openUntil <= this.clock.monotonic()) return undefined;
          return one.openUntil === Infinity ? 'lasting' : 'timed';
        },
      },
      cards: { renew: () => undefined, release: () => undefined },
      places: () => ({ bridge: 'br-ex', isUsed: true, held: [] }),
      right: () => lease.fenceRight(facts, clock.monotonic()),
      mayMove: () => lease.mayMove,
      isHeardSince: (at) => lease.isHeardSince(at, clock.monotonic()),
      isWritten: () => false,
      isHostSet: () => true,
      log: silent,
      onChange: () => undefined,
    });
    const lease = new EgressLeaseSource({
      node: name,
      nodes: this.#view,
      egressIps: { list: () => [] },
      timeout: TIMEOUT,
      serve: async (_address, answer) => {
        one.answer = answer;
        return { [Symbol.dispose]: () => undefined };
      },
      connect: this.#connect(name),
      run: `${name}-${this.#runs}`,
      log: silent,
      fence,
      onChange: () => undefined,
    });
    one.lease = lease;
    for (const source of [lease, fence])
      this.#running.push(source.start(facts, clock, stop.signal));
  }

  #node(name: string): SimulatedNode {
    const found = this.nodes.get(name);
    if (found === undefined) throw new Error(`no node ${name}`);
    return found;
  }

  /** Its daemon ends as it is; what it did last stays. */
  kill(name: string): void {
    if (this.dead.has(name)) return;
    const { stop, clock } = this.#node(name);
    stop.abort();
    clock.goOn();
    this.dead.add(name);
  }

  /** Some daemon does not run, or stands still. */
  get isAnyAway(): boolean {
    return this.dead.size > 0 || [...this.nodes.values()].some(({ clock }) => clock.stands);
  }

  /** It stands still, or goes on. */
  hang(name: string): void {
    const { clock } = this.#node(name);
    if (clock.stands) clock.goOn();
    else clock.stop();
  }

  restart(name: string): void {
    this.kill(name);
    const one = this.#node(name);
    one.stop = new AbortController();
    one.clock = new ProcessClock(this.clock);
    this.dead.delete(name);
    this.#startDaemon(name);
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
    {
      question,
      timeout,
      onThere,
    }: {
      readonly question: HealthQuestion;
      readonly timeout: number;
      readonly onThere: () => void;
    },
  ): Promise<NodeAnswer> {
    const late = this.#after(timeout).then((): NodeAnswer => ({ kind: 'silent', why: 'late' }));
    const answered = async (): Promise<NodeAnswer> => {
      await this.#after(this.latency);
      if (this.cut.has(`${from}>${to}`)) return late;
      const { answer, clock } = this.#node(to);
      if (!this.dead.has(to) && clock.stands) {
        // Connections that were there before say nothing; another one is made when nothing came, and the kernel takes it.
        await this.#after(timeout - 2 * this.latency);
        if (!this.cut.has(`${to}>${from}`) && !this.cut.has(`${from}>${to}`)) onThere();
        return late;
      }
      const metadata = this.dead.has(to) ? undefined : answer?.(question);
      await this.#after(this.latency);
      if (this.cut.has(`${to}>${from}`)) return late;
      if (this.dead.has(to)) return { kind: 'refused', why: 'refused' };
      return metadata === undefined ? late : { kind: 'serving', metadata };
    };
    return Promise.race([answered(), late]);
  }

  leases(): readonly (string | undefined)[] {
    return this.#names.map((name) => this.#node(name).facts.egressLease.peek()?.state);
  }

  /** Of each node, whether it may have addresses and what the manager takes it for. */
  states(): readonly string[] {
    return this.#names.map(
      (name) => `${this.#node(name).facts.egressLease.peek()?.state} ${this.reachability.of(name)}`,
    );
  }

  /** True while its data plane answers for its address: what is there, and past the fence. */
  has(name: string): boolean {
    const { facts, openUntil } = this.#node(name);
    return facts.egressLease.peek()?.state !== 'lost' && openUntil > this.clock.monotonic();
  }

  /** Nodes that have addresses although the manager gives them to others. */
  both(): readonly string[] {
    return [...this.taken].filter((name) => this.has(name));
  }

  isolate(name: string): void {
    for (const other of [MANAGER, ...this.#names])
      for (const pair of [`${name}>${other}`, `${other}>${name}`]) this.cut.add(pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { stop, clock } of this.nodes.values()) {
      stop.abort();
      clock.goOn();
    }
    this.#stopManager.abort();
    await this.clock.advance(TIMEOUT);
    await Promise.all(this.#running);
  }
}

test('a node says of its addresses that nobody else can have them once it was asked, and for as long as that holds, whether it looks or not', async () => {
  await using network = new Network(3);
  const one = network.nodes.get('n0');
  const isHeld = (later = 0): boolean =>
    one?.lease?.isHeld(one.facts, network.clock.monotonic() + later) === true;
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
    for (const name of network.nodes.keys()) expect(network.has(name)).toBe(true);
  }
});

test('a node looks only when something may have changed: where it is heard, or has nothing to keep', async () => {
  let looks = 0;
  const view = all([node(0)]);
  const counted = { ...view, get: (name: string) => (looks++, view.get(name)) };
  let answer: ((question: HealthQuestion) => HealthMetadata) | undefined;
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
      if (isAsked) token = answer?.({ seen: token }).token;
      await clock.advance(150);
    }
    return looks;
  };
  await clock.advance(3000);
  // Nobody asks.
  expect(await looksIn(15_000, false)).toBeLessThanOrEqual(16);
  const first = answer?.({}).token;
  answer?.({ seen: first });
  await clock.advance(0);
  expect(facts.egressLease.peek()?.state).toBe('held');
  expect(await looksIn(15_000, true)).toBeLessThanOrEqual(60);
  expect(facts.egressLease.peek()?.state).toBe('held');
  stop.abort();
  await running;
});

/** The nodes don't hear each other for a while, as on a machine that is short of processors. */
async function deaf(network: Network, milliseconds: number): Promise<void> {
  for (const from of network.nodes.keys())
    for (const to of network.nodes.keys()) network.cut.add(`${from}>${to}`);
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

/** Every 50 ms of so long, or every 100 where it is long, nobody has what was given to others. */
async function watched(network: Network, milliseconds: number): Promise<void> {
  const step = milliseconds > 3000 ? 100 : 50;
  for (let at = 0; at < milliseconds; at += step) {
    await network.clock.advance(step);
    expect(network.both()).toEqual([]);
  }
}

test.each([
  ['is gone', (network: Network) => network.kill('n2')],
  ['stands still', (network: Network) => network.nodes.get('n2')?.clock.stop()],
] as const)(
  'a node whose daemon %s has its addresses for as long as a restart takes, and then others have them',
  async (_what, end) => {
    await using network = new Network(3);
    await network.clock.advance(13_000);
    end(network);
    await watched(network, 19_000);
    expect(network.has('n2')).toBe(true);
    expect(network.reachability.of('n2')).toBe('unknown');
    await watched(network, 16_500);
    expect(network.has('n2')).toBe(false);
    expect(network.reachability.of('n2')).toBe('fenced');
    // It comes back, and knows what others have before it has anything.
    network.nodes.get('n2')?.clock.goOn();
    network.restart('n2');
    await watched(network, 20_000);
    // Until then it answers for nothing, whatever it has written down, and nobody waits for it.
    expect(network.reachability.of('n2')).toBe('fenced');
    network.taken.clear();
    await network.clock.advance(2000);
    expect(network.states()[2]).toBe('held reached');
    expect(network.has('n2')).toBe(true);
  },
);

test('a daemon that starts again in time leaves no moment without its addresses, also where there is no manager', async () => {
  for (const hasManager of [true, false]) {
    await using network = new Network(3);
    await network.clock.advance(13_000);
    if (!hasManager) network.stopManager();
    network.kill('n2');
    await network.clock.advance(12_000);
    network.restart('n2');
    for (let at = 0; at < 60_000; at += 100) {
      await network.clock.advance(100);
      expect(network.has('n2')).toBe(true);
    }
    expect(network.reachability.of('n2')).not.toBe('fenced');
  }
});

test('a node whose data plane keeps its addresses without its daemon keeps them, then and when it falls silent', async () => {
  for (const end of ['kill', 'stop'] as const) {
    await using network = new Network(3);
    network.mayMove = false;
    await network.clock.advance(13_000);
    if (end === 'kill') network.kill('n2');
    else network.nodes.get('n2')?.clock.stop();
    await network.clock.advance(60_000);
    expect(network.reachability.of('n2')).toBe('unknown');
    network.isolate('n2');
    await network.clock.advance(60_000);
    expect(network.reachability.of('n2')).toBe('unknown');
  }
});

test('where no other node could have its addresses a node keeps them without its daemon, for as long as nobody tells it otherwise', async () => {
  await using network = new Network(3);
  network.mayMove = false;
  await network.clock.advance(25_000);
  network.kill('n2');
  network.mayMove = true;
  await watched(network, 120_000);
  expect(network.has('n2')).toBe(true);
  expect(network.reachability.of('n2')).toBe('unknown');
  // Its daemon is told.
  network.restart('n2');
  await watched(network, 3000);
  network.kill('n2');
  await watched(network, 40_000);
  expect(network.reachability.of('n2')).toBe('fenced');
  expect(network.has('n2')).toBe(false);
});

test('a manager that starts while a daemon is away goes by what the node has written down', async () => {
  for (const [written, then] of [
    [JSON.stringify({ seconds: 30, daemon: daemonOf('n2') }), 'fenced'],
    // Of a daemon that another one came after.
    [JSON.stringify({ seconds: 30, daemon: 'another one' }), 'unknown'],
    [undefined, 'unknown'],
    ['soon', 'unknown'],
  ] as const) {
    await using network = new Network(3, written);
    await network.clock.advance(13_000);
    network.kill('n2');
    network.startManager();
    await watched(network, 30_000);
    expect(network.reachability.of('n2')).toBe('unknown');
    await watched(network, 6000);
    expect(network.reachability.of('n2')).toBe(then);
  }
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
            after: fc.oneof(
              { weight: 6, arbitrary: fc.integer({ min: 1, max: 1500 }) },
              fc.integer({ min: 1500, max: 40_000 }),
            ),
            change: fc.oneof(
              fc.record({ kind: fc.constant('isolate' as const), node: fc.nat(4) }),
              fc.record({ kind: fc.constant('cut' as const), from: fc.nat(5), to: fc.nat(5) }),
              fc.record({ kind: fc.constant('heal' as const) }),
              fc.record({
                kind: fc.constantFrom('kill' as const, 'restart' as const, 'hang' as const),
                node: fc.nat(4),
              }),
              fc.record({ kind: fc.constant('known' as const) }),
              fc.record({ kind: fc.constant('movable' as const), mayMove: fc.boolean() }),
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
            const name = 'node' in change ? `n${change.node % count}` : '';
            if (change.kind === 'kill' || change.kind === 'restart' || change.kind === 'hang') {
              // A host that is cut off in the very second in which its daemon ends is a case that is not held: it looks as one without power does.
              network.cut.clear();
              await watched(network, NOTICED);
              network[change.kind](name);
              await watched(network, NOTICED);
            } else if (change.kind === 'isolate') network.isolate(name);
            else if (change.kind === 'cut')
              network.cut.add(`${called(change.from)}>${called(change.to)}`);
            else if (change.kind === 'heal') network.cut.clear();
            else if (change.kind === 'known') network.taken.clear();
            else if (change.kind === 'movable') network.mayMove = change.mayMove;
            else if (change.kind === 'manager')
              if (change.starts) {
                // Nor is one of which a manager that starts finds nothing but silence, where its daemon had ended before.
                if (network.isAnyAway) network.cut.clear();
                network.startManager();
                if (network.isAnyAway) await watched(network, NOTICED);
              } else network.stopManager();
            else if (change.kind === 'latency') network.latency = change.latency;
            await watched(network, after + LETTING_GO);
            taken += network.taken.size;
          }
        },
      ),
      { numRuns: 60 },
    );
    expect(taken).toBeGreaterThan(0);
  },
);
