import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { NetworkMonitor } from '../../../../src/node/linux/network-monitor.ts';
import { NextHopSource } from '../../../../src/node/linux/next-hop-source.ts';
import { systemClock, type Clock } from '../../../../src/store/clock.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { until } from '../../../support/run/until.ts';
import { dualZone, factsOf } from '../../../support/zone/zones.ts';

const nothing = (): void => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const FIRST = '02:00:00:00:00:01';
const SECOND = '02:00:00:00:00:02';

describe.skipIf(whyNoNamespace !== undefined)('next hops of the host as facts', () => {
  let host: NetworkNamespace;
  let router: NetworkNamespace;
  let facts: ZoneFacts;
  let stop: AbortController;
  let running: Promise<void> | undefined;
  let monitor: NetworkMonitor;
  let source: NextHopSource;
  let changes: number;

  const start = (
    path = host.path,
    { clock = systemClock, mayAsk = true }: { clock?: Clock; mayAsk?: boolean } = {},
  ): void => {
    monitor = new NetworkMonitor({ namespace: path });
    source = new NextHopSource({
      node: 'ovn-worker',
      namespace: path,
      monitor,
      mayAsk,
      log,
      onChange: () => {
        changes += 1;
      },
    });
    running = source.start(facts, clock, stop.signal);
  };
  const known = (): Readonly<Record<string, string | undefined>> =>
    Object.fromEntries(
      [...facts.nextHops.keys()].map((key) => [key.join(' '), facts.nextHops.peek(...key)?.mac]),
    );
  const untilKnown = (wanted: Readonly<Record<string, string>>): Promise<void> =>
    until('next hops', () => JSON.stringify(known()) === JSON.stringify(wanted));

  beforeEach(async () => {
    [host, router] = [await NetworkNamespace.create(), await NetworkNamespace.create()];
    facts = factsOf(dualZone);
    stop = new AbortController();
    running = undefined;
    changes = 0;
    host.ip('link add br-ex type veth peer name uplink');
    host.ip(`link set uplink netns ${/\d+/.exec(router.path)?.[0]}`);
    host.ip('address add 172.18.0.3/16 dev br-ex');
    host.ip('address add fc00:18::3/64 dev br-ex nodad');
    // By which the kernel asks for neighbours.
    host.ip('address add fe80::3/64 dev br-ex nodad');
    host.ip('link set br-ex up');
    router.ip(`link set uplink address ${FIRST}`);
    router.ip('address add 172.18.0.1/16 dev uplink');
    router.ip('address add fc00:18::1/64 dev uplink nodad');
    router.ip('address add fe80::1/64 dev uplink nodad');
    router.ip('link set uplink up');
    host.ip('route add default via 172.18.0.1');
    host.ip('route add default via fc00:18::1 dev br-ex');
  });
  afterEach(async () => {
    stop.abort();
    await running;
    monitor[Symbol.dispose]();
    host[Symbol.dispose]();
    router[Symbol.dispose]();
  });

  test('the kernel is asked for those to which the host has sent nothing yet, of both families', async () => {
    start();
    await untilKnown({ 'br-ex 172.18.0.1': FIRST, 'br-ex fc00:18::1': FIRST });
    expect(source.problems()).toEqual([]);
  });

  test('a kernel that is looked at alone is asked for nobody, and what it learns is known', async () => {
    start(host.path, { mayAsk: false });
    expect(host.ip('neighbour show')).not.toContain('172.18.0.1 ');
    host.ip(`neighbour replace 172.18.0.1 lladdr ${SECOND} dev br-ex nud stale`);
    await untilKnown({ 'br-ex 172.18.0.1': SECOND });
  });

  test('another router at an address is followed, and what is no next hop is nothing', async () => {
    start();
    await untilKnown({ 'br-ex 172.18.0.1': FIRST, 'br-ex fc00:18::1': FIRST });
    const before = changes;
    host.ip(`neighbour replace 172.18.0.9 lladdr ${SECOND} dev br-ex nud stale`);
    host.ip(`neighbour replace 172.18.0.1 lladdr ${SECOND} dev br-ex nud stale`);
    await untilKnown({ 'br-ex 172.18.0.1': SECOND, 'br-ex fc00:18::1': FIRST });
    expect(changes).toBe(before + 1);
  });

  test('one that falls silent keeps its address, and another one that takes its place without a word is found', async () => {
    let again = nothing;
    // The time until the kernel is asked again is the test's.
    const clock: Clock = {
      ...systemClock,
      after: (milliseconds, work) => {
        if (milliseconds < 1000) return systemClock.after(milliseconds, work);
        again = work;
        return nothing;
      },
    };
    start(host.path, { clock });
    await untilKnown({ 'br-ex 172.18.0.1': FIRST, 'br-ex fc00:18::1': FIRST });
    router.ip('link set uplink down');
    host.ip('neighbour replace 172.18.0.1 dev br-ex nud failed');
    again();
    await until('the kernel to be asked', () =>
      host.ip('neighbour show 172.18.0.1').includes('IN'),
    );
    expect(known()).toMatchObject({ 'br-ex 172.18.0.1': FIRST });
    router.ip(`link set uplink address ${SECOND}`);
    router.ip('link set uplink up');
    await until('the other one', () => {
      again();
      return known()['br-ex 172.18.0.1'] === SECOND;
    });
  });

  test('one by which no default route leads is forgotten', async () => {
    start();
    await untilKnown({ 'br-ex 172.18.0.1': FIRST, 'br-ex fc00:18::1': FIRST });
    host.ip('-6 route del default');
    await untilKnown({ 'br-ex 172.18.0.1': FIRST });
  });

  test('what cannot be read stays, and is told', async () => {
    facts.nextHops.put(['br-ex', '172.18.0.1'], { mac: FIRST });
    start('/proc/self/ns/nothing');
    await until('a problem', () => source.problems().length > 0);
    expect(source.problems()[0]?.message).toMatch(/^the neighbours of the host can't be read/);
    expect(known()).toEqual({ 'br-ex 172.18.0.1': FIRST });
  });
});
