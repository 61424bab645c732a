/** When a node opens the fence of its egress addresses, and shuts it. */
import { expect, test } from 'vitest';
import { NetlinkError } from 'rtnetlink-ts';
import { zoneFacts } from '../../../../src/model/zone/zone.ts';
import {
  EgressFenceSource,
  fencedPlaces,
  type FencedPlaces,
  type FenceRight,
} from '../../../../src/node/egress-lease/egress-fence-source.ts';
import type { FenceTerm } from '../../../../src/node/openflow/egress-fence.ts';
import { OfctlError } from '../../../../src/node/openflow/ofctl-program.ts';
import { silent } from '../../../support/cluster/cluster.ts';
import { ManualClock } from '../../../support/run/manual-clock.ts';
import { ipv4Settings } from '../../../support/zone/zones.ts';

class Fenced implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly did: string[] = [];
  readonly leases: string[] = [];
  right: FenceRight = 'open';
  places: FencedPlaces = { bridge: 'br-ex', isUsed: true, held: ['10.9.0.7/32'] };
  isHostSet = true;
  term: FenceTerm | undefined = 'timed';
  mayMove = true;
  heardUntil = Infinity;
  isWritten = false;
  fails = false;
  cardsFail = false;
  readonly source: EgressFenceSource;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    before: Partial<
      Pick<Fenced, 'right' | 'places' | 'isHostSet' | 'term' | 'mayMove' | 'isWritten'>
    > = {},
  ) {
    Object.assign(this, before);
    const does = (what: string) => {
      this.did.push(`${this.clock.monotonic()} ${what}`);
      if (this.fails) throw new OfctlError('nobody answers');
    };
    this.source = new EgressFenceSource({
      node: 'n1',
      fence: {
        open: async (bridge, term) => {
          does(term === 'timed' ? `open ${bridge}` : `open ${bridge} for good`);
          this.term = term;
        },
        close: async (bridge) => {
          does(`close ${bridge}`);
          this.term = undefined;
        },
        termOf: async () => this.term,
      },
      cards: {
        renew: (held, bridge, term) => {
          this.leases.push(`${this.clock.monotonic()} ${held.join()} but for ${bridge} ${term}`);
          if (this.cardsFail) throw new NetlinkError('replace', 'the kernel is busy', 'EBUSY');
        },
        release: () => void this.leases.push(`${this.clock.monotonic()} released`),
      },
      places: () => this.places,
      right: () => this.right,
      mayMove: () => this.mayMove,
      isHeardSince: (at) => at < this.heardUntil,
      isWritten: () => this.isWritten,
      isHostSet: () => this.isHostSet,
      log: silent,
      onChange: () => undefined,
    });
    const facts = zoneFacts('n1', ipv4Settings);
    this.#running = this.source.start(facts, this.clock, this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

test('it is opened again every 10 s, for all addresses together, and says that it lasts 30 s', async () => {
  await using fenced = new Fenced();
  await fenced.clock.advance(25_000);
  expect(fenced.did).toEqual(['0 open br-ex', '10000 open br-ex', '20000 open br-ex']);
  expect(fenced.source.lasts(25_000)).toBe(30_000);
  expect(fenced.source.seconds).toBe(30);
});

test('nothing is written where there is no egress address', async () => {
  const places = { bridge: 'br-ex', isUsed: false, held: [] };
  await using fenced = new Fenced({ places });
  await fenced.clock.advance(60_000);
  expect(fenced.did).toEqual([]);
  expect(fenced.source.lasts(60_000)).toBeUndefined();
});

test('it is shut at once when the node may have none any more, and opened at once when it may again', async () => {
  await using fenced = new Fenced();
  await fenced.clock.advance(4000);
  fenced.right = 'closed';
  fenced.source.wake();
  await fenced.clock.advance(2000);
  expect(fenced.did).toEqual(['0 open br-ex', '4000 close br-ex']);
  expect(fenced.source.lasts(6000)).toBeUndefined();
  fenced.right = 'open';
  fenced.source.wake();
  await fenced.clock.advance(0);
  expect(fenced.did.at(-1)).toBe('6000 open br-ex');
});

test('a daemon that has not been heard since its start keeps open what is open, and opens nothing', async () => {
  for (const term of ['timed', 'lasting', undefined] as const) {
    await using fenced = new Fenced({ right: 'left', term });
    await fenced.clock.advance(3000);
    // What lasts by itself needs nobody.
    expect(fenced.did.length > 0).toBe(term === 'timed');
    expect(fenced.source.lasts(3000)).toBeUndefined();
    expect(fenced.source.seconds).toBeUndefined();
  }
});

test('nobody counts on it before all that it is for is on the host', async () => {
  await using fenced = new Fenced({ isHostSet: false });
  await fenced.clock.advance(5000);
  expect(fenced.source.lasts(5000)).toBeUndefined();
  fenced.isHostSet = true;
  await fenced.clock.advance(1000);
  expect(fenced.source.lasts(6000)).toBe(30_000);
});

test('the kernel leases what is at other network cards for as long, renews that with it, and is told at once when the node may have none any more', async () => {
  await using fenced = new Fenced();
  await fenced.clock.advance(15_000);
  fenced.right = 'closed';
  fenced.source.wake();
  await fenced.clock.advance(0);
  expect(fenced.leases).toEqual([
    '0 10.9.0.7/32 but for br-ex timed',
    '10000 10.9.0.7/32 but for br-ex timed',
    '15000 released',
  ]);
});

test('for good where no other node could have an address, and what a daemon before left only where the fence is open', async () => {
  await using lasting = new Fenced({ term: 'lasting', mayMove: false });
  await lasting.clock.advance(1000);
  expect(lasting.leases).toEqual(['0 10.9.0.7/32 but for br-ex lasting']);
  await using left = new Fenced({ right: 'left' });
  await left.clock.advance(500);
  expect(left.leases).toEqual(['0 10.9.0.7/32 but for br-ex timed']);
  await using shut = new Fenced({ right: 'left', term: undefined });
  await shut.clock.advance(5000);
  expect(shut.leases).toEqual([]);
});

test('where the kernel renews nothing nobody counts on it after 30 s, and the node says so', async () => {
  await using fenced = new Fenced();
  await fenced.clock.advance(500);
  fenced.cardsFail = true;
  await fenced.clock.advance(31_000);
  expect(fenced.source.lasts(fenced.clock.monotonic())).toBeUndefined();
  const message = expect.stringContaining('the kernel is busy') as string;
  expect(fenced.source.problems()).toEqual([{ object: 'Node n1', message }]);
});

test('what is fenced is what EgressIPs give the node, also while it is not known whether it may have it', () => {
  const facts = zoneFacts('n1', ipv4Settings);
  facts.egressLease.put([], { state: 'unknown' });
  const move = { address: '10.9.0.9', from: 'n1', to: 'n2', step: 'prepare' } as const;
  const items = ['10.9.0.7', '10.9.0.8', '10.9.0.9'].map((address, index) => ({
    node: index === 1 ? 'n2' : 'n1',
    address,
  }));
  facts.egressIps.put('out', {
    name: 'out',
    created: '',
    namespaceSelector: {},
    podSelector: {},
    families: ['v4'],
    items,
    moves: [move],
    isHere: true,
  });
  expect(fencedPlaces(facts)).toEqual({
    bridge: undefined,
    isUsed: true,
    held: ['10.9.0.7/32', '10.9.0.9/32'],
  });
  facts.egressIps.put('out', undefined);
  expect(fencedPlaces(facts)).toEqual({ bridge: undefined, isUsed: false, held: [] });
});

test('where no other node could have its addresses it lasts, once nobody counts on its end: neither by an answer, nor by what he can read', async () => {
  await using fenced = new Fenced({ isWritten: true });
  await fenced.clock.advance(1000);
  expect(fenced.source.lasts(1000)).toBe(30_000);
  fenced.mayMove = false;
  fenced.source.wake();
  // Nobody is told that it ends from now on.
  expect(fenced.source.lasts(1001)).toBeUndefined();
  expect(fenced.source.seconds).toBe(0);
  await fenced.clock.advance(20_000);
  expect(fenced.term).toBe('timed');
  fenced.isWritten = false;
  fenced.heardUntil = 0;
  await fenced.clock.advance(20_000);
  expect(fenced.term).toBe('timed');
  fenced.heardUntil = Infinity;
  await fenced.clock.advance(10_000);
  expect(fenced.term).toBe('lasting');
  const before = fenced.did.length;
  await fenced.clock.advance(30_000);
  expect(fenced.did.length - before).toBe(3);
  expect(fenced.source.lasts(81_000)).toBeUndefined();
  // Another node could again: it is told so only once it ends by itself.
  fenced.mayMove = true;
  expect(fenced.source.lasts(81_000)).toBeUndefined();
  fenced.source.wake();
  await fenced.clock.advance(0);
  expect(fenced.term).toBe('timed');
  expect(fenced.source.lasts(fenced.clock.monotonic())).toBe(30_000);
});

test('a daemon that starts where it lasts, and no other node could have its addresses, has at no moment one that ends', async () => {
  await using fenced = new Fenced({ term: 'lasting', mayMove: false });
  await fenced.clock.advance(25_000);
  expect(fenced.did).toEqual([
    '0 open br-ex for good',
    '10000 open br-ex for good',
    '20000 open br-ex for good',
  ]);
});

test('where Open vSwitch takes nothing it is tried every second, nobody counts on it after 30 s, and the node says so', async () => {
  await using fenced = new Fenced();
  await fenced.clock.advance(500);
  fenced.fails = true;
  await fenced.clock.advance(19_000);
  expect(fenced.did.length).toBeGreaterThan(8);
  expect(fenced.source.problems()).toEqual([]);
  await fenced.clock.advance(11_000);
  expect(fenced.source.lasts(fenced.clock.monotonic())).toBeUndefined();
  const message = expect.stringContaining('nobody answers') as string;
  expect(fenced.source.problems()).toEqual([{ object: 'Node n1', message }]);
  fenced.fails = false;
  await fenced.clock.advance(1000);
  expect(fenced.source.problems()).toEqual([]);
});
