/** The port of tunnels in nftables of the host: nothing of a network gets there, and from outside other nodes alone do, by the ends of their tunnels. */
import {
  asPlain,
  contains as mentions,
  elementsOf,
  type NftRule,
  type NftTable,
} from '../nft-table.ts';
import type { Findings } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import type { Settings } from '../snapshot.ts';

const PORT = 6081;
const SOURCES = 'tunnel-sources';
const PEERS = /^tunnel-peers-v[46]$/;
/** Expressions of a rule that asks for the port alone, and for one thing more; the last is what it does. */
const PORT_ALONE = 2;
const ONE_MORE = 3;

/** Of whom nothing gets to the port, by what a rule asks. */
const FROM = {
  'what comes by a port of a network': (value) =>
    asPlain(asPlain(value)['meta'])['key'] === 'iifname',
  'what comes by a VRF of a network': (value) =>
    asPlain(asPlain(value)['meta'])['key'] === 'sdifname',
  'what a service leads there': (value) => asPlain(asPlain(value)['ct'])['key'] === 'status',
} as const satisfies Record<string, (value: unknown) => boolean>;

const asksForPort = ({ expressions }: NftRule): boolean =>
  mentions(expressions, (value) => value === PORT);
const lets = ({ accepts, returns }: NftRule): boolean => accepts || returns;

export function checkTunnelRules(
  own: NftTable,
  { tunnelSources }: Settings,
  { nodes }: Intent,
  findings: Findings,
): void {
  const wrong = (chain: string, what: string): void => {
    findings.wrong('nftables', `chain ${chain}`, what, 'cluster', ['default']);
  };
  const rulesOf = (chain: string): readonly NftRule[] =>
    own.rules.filter((rule) => rule.chain === chain);
  for (const chain of ['tunnel-forward', 'tunnel-input']) {
    const rules = rulesOf(chain);
    for (const [what, asks] of Object.entries(FROM))
      if (
        !rules.some(
          (rule) =>
            rule.drops &&
            rule.expressions.length === ONE_MORE &&
            asksForPort(rule) &&
            mentions(rule.expressions, asks),
        )
      )
        wrong(chain, `does not drop ${what} to the port of tunnels`);
    if (rules.some(lets)) wrong(chain, 'lets something past what drops for the port of tunnels');
  }
  if (tunnelSources === 'any') return;
  const isLed = rulesOf('tunnel-input').some(
    (rule) =>
      rule.expressions.length === PORT_ALONE &&
      asksForPort(rule) &&
      mentions(rule.expressions, (value) => asPlain(asPlain(value)['jump'])['target'] === SOURCES),
  );
  if (!isLed)
    wrong('tunnel-input', `does not lead what comes to the port of tunnels to ${SOURCES}`);
  const sources = rulesOf(SOURCES);
  const end = sources.findIndex(
    ({ drops, expressions }) =>
      drops &&
      expressions.every(
        (one) => Object.hasOwn(asPlain(one), 'drop') || Object.hasOwn(asPlain(one), 'counter'),
      ),
  );
  if (end < 0) wrong(SOURCES, 'does not drop what strangers send to the port of tunnels');
  const isNamed = (value: unknown): boolean =>
    (typeof value === 'string' &&
      (PEERS.test(value.replace('@', '')) || tunnelSources.includes(value))) ||
    tunnelSources.includes(prefixText(value));
  for (const rule of sources)
    if (lets(rule) && !mentions(rule.expressions, isNamed))
      wrong(SOURCES, 'lets strangers send to the port of tunnels');
  const ends = new Set([...nodes.values()].flatMap(({ tunnelAddresses }) => tunnelAddresses));
  for (const [name, members] of own.sets)
    if (PEERS.test(name))
      for (const { key } of elementsOf(members))
        if (!ends.has(key.join(' ')))
          findings.wrong(
            'nftables',
            `${key.join(' ')} of ${name}`,
            'sends to the port of tunnels, and no tunnel of a node ends there',
            'cluster',
            ['default'],
          );
}

const prefixText = (value: unknown): string => {
  const { addr, len } = asPlain(asPlain(value)['prefix']);
  return `${String(addr)}/${String(len)}`;
};
