/** Keeps the fact of what DNS knows names in rules by: asked again when the shortest TTL of an answer has passed. */
import { withinAny, type Family } from '../../allocators/addresses.ts';
import { errorText } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { infrastructureRanges } from '../../model/rules/infrastructure-ranges.ts';
import type { ResolvedName } from '../../model/zone/egress-firewalls.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Backoff } from '../../store/backoff.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import type { FactSource } from '../fact-source.ts';
import type { Ask } from './dns-query.ts';
import { HeldAnswers } from './held-answers.ts';

export interface NameSourceOptions {
  readonly ask: Ask;
  /** Servers of the host. */
  readonly hostServers: () => readonly string[];
  readonly log: Log;
  /** Called when facts are others. */
  readonly onChange: () => void;
}

/** Names that are asked for at the same time. */
const PARALLELISM = 16;
/** After a failure, growing. */
const BACKOFF: Backoff = { first: 5_000, longest: 120_000 };

/** What no name stands for outside: what a name's owner may say of it must not open or close the inside of a host. */
const NOBODY = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/3',
  '::/127',
  'fe80::/10',
  'ff00::/8',
];

/** Those of the service, or of the host where the service is not there. */
function serversOf(
  { settings, declaredServices }: ZoneFacts,
  ofHost: () => readonly string[],
): readonly string[] {
  const { dnsServers } = settings;
  if (typeof dnsServers !== 'string') return dnsServers;
  return declaredServices.peek(dnsServers)?.facts.clusterIps ?? ofHost();
}

function problemOf(
  name: string,
  held: ReadonlyMap<Family, HeldAnswers>,
  errors: readonly unknown[],
): Pick<ResolvedName, 'problem'> {
  const [error] = errors;
  const hasNone = [...held.values()].every(({ addresses }) => addresses.length === 0);
  if (error !== undefined)
    return {
      problem: `no answer of DNS (dns-servers) for name ${name}, which a rule has: it is ${hasNone ? 'nobody, or what it was before the start' : 'what it was'} until there is one: ${errorText(error)}`,
    };
  if (!hasNone) return {};
  return {
    problem: `name ${name}, which a rule has, has no addresses outside of the cluster in DNS: the rule is about nobody until it has`,
  };
}

export class NameSource implements FactSource {
  readonly #options: NameSourceOptions;
  /** By name and family, of those that were answered. */
  readonly #held = new Map<string, Map<Family, HeldAnswers>>();

  constructor(options: NameSourceOptions) {
    this.#options = options;
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    const names = facts.firewalls.distinct('dnsName');
    const wanted = new Set<string>();
    const isInside = withinAny([...infrastructureRanges(facts.settings), ...NOBODY]);
    const queue = new WorkQueue({
      reconcile: async (name) => {
        if (wanted.has(name)) return { after: await this.#ask(facts, name, clock, isInside) };
        this.#held.delete(name);
        facts.resolvedNames.put(name, undefined);
        return undefined;
      },
      onFailure: ({ key, error, attempt }) => {
        if (attempt === 1) this.#options.log.warn({ name: key, error }, 'a name was not resolved');
      },
      parallelism: PARALLELISM,
      backoff: BACKOFF,
      clock,
    });
    names.onKeys(([name], isPresent) => {
      if (isPresent) wanted.add(name);
      else wanted.delete(name);
      queue.add(name);
    });
    for (const [name] of names.keys()) {
      wanted.add(name);
      queue.add(name);
    }
    await queue.run(signal);
  }

  /** Units say it of each EgressFirewall that has the name. */
  problems(): readonly ZoneProblem[] {
    return [];
  }

  /** Returns the milliseconds until the name is to be asked for again; throws if no server answered. */
  async #ask(
    facts: ZoneFacts,
    name: string,
    clock: Clock,
    isInside: (address: string) => boolean,
  ): Promise<number> {
    const servers = serversOf(facts, this.#options.hostServers);
    const families = clusterFamilies(facts.settings);
    const asked = await Promise.allSettled(
      families.map((family) => this.#options.ask(name, family, servers)),
    );
    const held = this.#held.get(name) ?? new Map<Family, HeldAnswers>();
    this.#held.set(name, held);
    const dues: number[] = [];
    const errors: unknown[] = [];
    for (const [index, answer] of asked.entries()) {
      const family = families[index] ?? 'v4';
      if (answer.status === 'rejected') {
        errors.push(answer.reason);
        continue;
      }
      const outside = answer.value.filter(({ address }) => !isInside(address));
      const answers = held.get(family) ?? new HeldAnswers();
      held.set(family, answers);
      dues.push(answers.take(outside, clock.monotonic()));
    }
    const fact: ResolvedName = {
      addresses: Object.fromEntries(
        [...held].map(([family, { addresses }]) => [family, addresses]),
      ),
      ...problemOf(name, held, errors),
    };
    if (facts.resolvedNames.put(name, fact)) this.#options.onChange();
    if (errors.length > 0) throw errors[0];
    return Math.min(...dues);
  }
}
