/** What the host holds: links, rules and routes by netlink, nftables and flows by the programs that people use. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { links, NetlinkSocket, ROUTE_TYPE, routes, rules, type Link } from 'rtnetlink-ts';
import { errorText } from '../../api/error-text.ts';
import { isPlainObject } from '../../api/plain-object.ts';
import type { Flow, HostLink, HostRoute, HostRule, HostState } from '../snapshot.ts';

const run = promisify(execFile);
/** Flows of a node with 500 networks are some 100 MB of text. */
const MOST_BYTES = 1024 ** 3;
const FAMILIES = ['v4', 'v6'] as const;
const EVERY_BIT = 0xffff_ffff;
const INTEGRATION_BRIDGE = 'br-int';
/** Nothing that could be read as an option or a socket. */
const BRIDGE_NAME = /^\w[\w.-]*$/;

/** The host, and what could not be read of it. `bridge`: the external one, where there is one. */
export async function readHost(
  bridge: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly host: HostState; readonly unread: readonly string[] }> {
  const unread: string[] = [];
  const attempt = async <T>(what: string, read: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      unread.push(`${what}: ${errorText(error)}`);
      return undefined;
    }
  };
  const [network, nftables, integrationFlows, bridgeFlows] = await Promise.all([
    attempt('links, rules and routes of the host', readNetwork),
    attempt('nftables', () => readNftables(signal)),
    attempt(`flows of ${INTEGRATION_BRIDGE}`, () => readFlows(INTEGRATION_BRIDGE, signal)),
    bridge === undefined
      ? undefined
      : attempt(`flows of ${bridge}`, () => readFlows(bridge, signal)),
  ]);
  if (
    network !== undefined &&
    bridge !== undefined &&
    !network.links.some(({ name }) => name === bridge)
  ) {
    unread.push(
      `the host: it has no device ${bridge}, so it is not the node's: run this on the node, in its network namespace`,
    );
    return { host: {}, unread };
  }
  return {
    host: {
      ...network,
      ...(nftables === undefined ? {} : { nftables }),
      ...(integrationFlows === undefined ? {} : { integrationFlows }),
      ...(bridgeFlows === undefined ? {} : { bridgeFlows }),
    },
    unread,
  };
}

function readNetwork(): Required<Pick<HostState, 'links' | 'rules' | 'routes'>> {
  using socket = new NetlinkSocket('route');
  const found = socket.dump(links());
  const names = new Map(found.map(({ index, name }) => [index, name]));
  return {
    links: found.map((link) => hostLink(link, names)),
    rules: FAMILIES.flatMap((family) =>
      socket
        .dump(rules({ family }))
        .map(
          ({
            priority,
            table,
            source,
            destination,
            mark,
            mask,
            inputDevice,
            outputDevice,
            sourcePorts,
            isL3mdev,
            isInverted,
            hasMore,
          }): HostRule => ({
            priority,
            family,
            table,
            ...(source === undefined ? {} : { source }),
            ...(destination === undefined ? {} : { destination }),
            ...(mark === undefined ? {} : { mark }),
            isL3mdev,
            isForAll:
              ![source, destination, mark, inputDevice, outputDevice, sourcePorts].some(
                (one) => one !== undefined,
              ) && !hasMore,
            isWider: isInverted || (mask !== undefined && mask !== EVERY_BIT),
          }),
        ),
    ),
    routes: FAMILIES.flatMap((family) =>
      socket.dump(routes({ family })).map(({ table, destination, type, hops }): HostRoute => ({
        table,
        family,
        destination,
        isUnicast: type === ROUTE_TYPE.unicast,
        hops: hops.map(({ device, via }) => {
          const name = device === undefined ? undefined : names.get(device);
          return {
            ...(name === undefined ? {} : { device: name }),
            ...(via === undefined ? {} : { via }),
          };
        }),
      })),
    ),
  };
}

function hostLink(
  { name, kind, data, master, peer, peerNamespace }: Link,
  names: ReadonlyMap<number, string>,
): HostLink {
  const holder = master === undefined ? undefined : names.get(master);
  // The other end of a pair is no device below.
  const below =
    kind === 'veth' || peer === undefined || peerNamespace !== undefined
      ? undefined
      : names.get(peer);
  return {
    name,
    ...(below === undefined || below === name ? {} : { below }),
    ...(data?.kind === 'vrf' && data.table !== undefined ? { table: data.table } : {}),
    ...(holder === undefined ? {} : { master: holder }),
  };
}

async function readNftables(signal: AbortSignal): Promise<readonly unknown[]> {
  const { stdout } = await run('nft', ['-j', 'list', 'ruleset'], { maxBuffer: MOST_BYTES, signal });
  const parsed: unknown = JSON.parse(stdout);
  const objects = isPlainObject(parsed) ? parsed['nftables'] : undefined;
  if (!Array.isArray(objects)) throw new Error('nft gave something else than its JSON');
  return objects as readonly unknown[];
}

async function readFlows(bridge: string, signal: AbortSignal): Promise<readonly Flow[]> {
  if (!BRIDGE_NAME.test(bridge))
    throw new Error(`${JSON.stringify(bridge)} can't be the name of a bridge`);
  const { stdout } = await run(
    'ovs-ofctl',
    ['-O', 'OpenFlow13', '--no-stats', '--no-names', 'dump-flows', bridge],
    { maxBuffer: MOST_BYTES, signal, env: { ...process.env, LC_ALL: 'C' } },
  );
  return parseFlows(stdout);
}

/** Priority of a flow for which the program writes none (OpenFlow 1.3, OFP_DEFAULT_PRIORITY). */
const DEFAULT_PRIORITY = 32_768;

/** Flows of `ovs-ofctl --no-stats --no-names dump-flows`; lines that are none are left out. */
export function parseFlows(text: string): readonly Flow[] {
  const flows: Flow[] = [];
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end < 0 ? undefined : end);
    start = end < 0 ? text.length : end + 1;
    const flow = parseFlow(line);
    if (flow !== undefined) flows.push(flow);
  }
  return flows;
}

const ATTRIBUTES =
  /^ *(?:cookie=(0x[0-9a-f]+), )?(?:table=(\d+), )?(?:[a-z_]+_timeout=\d+, )*(?:importance=\d+, )?(?:send_flow_rem )?(?:priority=(\d+)(?:,| ))?/;

function parseFlow(line: string): Flow | undefined {
  const at = line.indexOf('actions=');
  if (at < 0) return undefined;
  const [whole = '', cookie = '0x0', table = '0', priority] = ATTRIBUTES.exec(line) ?? [];
  return {
    table: Number(table),
    priority: priority === undefined ? DEFAULT_PRIORITY : Number(priority),
    cookie,
    match: line.slice(whole.length, at).trim(),
    actions: line.slice(at + 'actions='.length),
  };
}
