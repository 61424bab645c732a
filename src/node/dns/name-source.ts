/** Keeps the fact of what DNS knows names in rules by: what pods are told, and what the daemon is, which asks again when the shortest TTL of an answer has passed. */
import { withinAny, type Family } from '../../allocators/addresses.ts';
import { errorText } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import { isWildcard, rulesAbout } from '../../model/rules/dns-forwarding.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { infrastructureRanges } from '../../model/rules/infrastructure-ranges.ts';
import type { ResolvedName } from '../../model/zone/egress-firewalls.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Backoff } from '../../store/backoff.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue, type Again } from '../../store/work-queue.ts';
import type { FactSource } from '../fact-source.ts';
import type { Ask } from './dns-query.ts';
import { HeldAnswers, type Answer } from './held-answers.ts';
import { Installations } from './installations.ts';

export interface NameSourceOptions {
  readonly ask: Ask;
  /** Servers of the host. */
  readonly hostServers: () => readonly string[];
  readonly log: Log;
  /** Called when facts are others. */
  readonly onChange: () => void;
  /** Addresses that the database has of a name since before the start; undefined while it is not read. */
  readonly heldBefore: (name: string, family: Family) => readonly string[] | undefined;
  /** See `Installations`; absent where there is no Open vSwitch. */
  readonly revalidated?: () => Promise<void>;
}

/** What a pod is told, and the name or wildcard of a rule that it is about. */
export interface Told {
  readonly rule: string;
  readonly answers: { readonly [family in Family]: readonly Answer[] };
}

/** Milliseconds until it is looked again whether the database is read. */
const UNREAD = 200;

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
  '::ffff:0:0/96',
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
): string | undefined {
  const [error] = errors;
  const hasNone = [...held.values()].every(({ addresses }) => addresses.length === 0);
  if (error !== undefined)
    return `no answer of DNS (dns-servers) for name ${name}, which a rule has: it is ${hasNone ? 'nobody, or what it was before the start' : 'what it was'} until there is one: ${errorText(error)}`;
  return hasNone
    ? `name ${name}, which a rule has, has no addresses outside of the cluster in DNS: the rule is about nobody until it has`
    : undefined;
}

export class NameSource implements FactSource {
  /** When what is known is in the data plane. */
  readonly installations: Installations;
  readonly #options: NameSourceOptions;
  /** By name and family. */
  readonly #held = new Map<string, Map<Family, HeldAnswers>>();
  readonly #wanted = new Set<string>();
  #zone: Zone | undefined;

  constructor(options: NameSourceOptions) {
    this.#options = options;
    this.installations = new Installations(options.revalidated);
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    const names = facts.ruleNames;
    const queue = new WorkQueue({
      reconcile: (name) => this.#reconcile(name),
      onFailure: ({ key, error, attempt }) => {
        if (attempt === 1) this.#options.log.warn({ name: key, error }, 'a name was not resolved');
      },
      parallelism: PARALLELISM,
      backoff: BACKOFF,
      clock,
    });
    const isInside = withinAny([...infrastructureRanges(facts.settings), ...NOBODY]);
    this.#zone = { facts, clock, queue, isInside };
    names.onKeys(([name], isPresent) => {
      if (isPresent) this.#wanted.add(name);
      else this.#wanted.delete(name);
      queue.add(name);
    });
    for (const [name] of names.keys()) {
      this.#wanted.add(name);
      queue.add(name);
    }
    await queue.run(signal);
  }

  /** Units say it of each object that has the name. */
  problems(): readonly ZoneProblem[] {
    return [];
  }

  /** Names and wildcards of rules that a name is meant by. */
  rulesAbout(name: string): readonly string[] {
    return rulesAbout(name).filter((rule) => this.#wanted.has(rule));
  }

  /** Takes what a pod is told. Returns the change that has to be in the data plane before it is; 0 where nothing has to. */
  told({ rule, answers }: Told): number {
    const zone = this.#zone;
    if (zone === undefined || !this.#wanted.has(rule)) return 0;
    const { facts, clock, queue, isInside } = zone;
    const held = this.#heldOf(rule);
    if (held === undefined) return Infinity;
    const changes = clusterFamilies(facts.settings).map((family) => {
      const outside = answers[family].filter(({ address }) => !isInside(address));
      return outside.length === 0 ? 0 : this.#of(held, family).add(outside, clock.monotonic());
    });
    this.#put(rule, held, facts.resolvedNames.peek(rule)?.problem);
    // What only pods are told ends by itself.
    if (isWildcard(rule)) queue.add(rule);
    return Math.max(0, ...changes);
  }

  async #reconcile(name: string): Promise<Again | undefined> {
    if (this.#zone === undefined) return undefined;
    const { facts, clock } = this.#zone;
    if (!this.#wanted.has(name)) {
      this.#held.delete(name);
      facts.resolvedNames.put(name, undefined);
      return undefined;
    }
    const held = this.#heldOf(name);
    if (held === undefined) return { after: UNREAD };
    if (!isWildcard(name)) return { after: await this.#ask(this.#zone, name, held) };
    const now = clock.monotonic();
    for (const answers of held.values()) answers.expire(now);
    this.#put(name, held, undefined);
    const end = Math.min(Infinity, ...[...held.values()].map((one) => one.untilEnd(now)));
    return end === Infinity ? undefined : { after: end };
  }

  /** Undefined while nobody knows what was held before the start. */
  #heldOf(name: string): Map<Family, HeldAnswers> | undefined {
    const known = this.#held.get(name);
    if (known !== undefined || this.#zone === undefined) return known;
    const { facts, clock } = this.#zone;
    const held = new Map<Family, HeldAnswers>();
    for (const family of clusterFamilies(facts.settings)) {
      const before = this.#options.heldBefore(name, family);
      if (before === undefined) return undefined;
      if (before.length > 0) this.#of(held, family).keep(before, clock.monotonic());
    }
    this.#held.set(name, held);
    return held;
  }

  #of(held: Map<Family, HeldAnswers>, family: Family): HeldAnswers {
    const known = held.get(family);
    if (known !== undefined) return known;
    const made = new HeldAnswers(() => this.installations.changed());
    held.set(family, made);
    return made;
  }

  #put(name: string, held: ReadonlyMap<Family, HeldAnswers>, problem: string | undefined): void {
    const facts = this.#zone?.facts;
    const fact: ResolvedName = {
      addresses: Object.fromEntries(
        [...held].map(([family, { addresses }]) => [family, addresses]),
      ),
      ...(problem === undefined ? {} : { problem }),
    };
    if (facts?.resolvedNames.put(name, fact) === true) this.#options.onChange();
  }

  /** Returns the milliseconds until the name is to be asked for again; throws if no server answered. */
  async #ask(
    { facts, clock, isInside }: Zone,
    name: string,
    held: Map<Family, HeldAnswers>,
  ): Promise<number> {
    const servers = serversOf(facts, this.#options.hostServers);
    const families = clusterFamilies(facts.settings);
    const asked = await Promise.allSettled(
      families.map((family) => this.#options.ask(name, family, servers)),
    );
    const dues: number[] = [];
    const errors: unknown[] = [];
    for (const [index, answer] of asked.entries()) {
      const family = families[index] ?? 'v4';
      if (answer.status === 'rejected') {
        errors.push(answer.reason);
        continue;
      }
      const outside = answer.value.filter(({ address }) => !isInside(address));
      dues.push(this.#of(held, family).take(outside, clock.monotonic()));
    }
    // Meanwhile no rule may have it any more.
    if (this.#held.get(name) === held) this.#put(name, held, problemOf(name, held, errors));
    if (errors.length > 0) throw errors[0];
    return Math.min(...dues);
  }
}

interface Zone {
  readonly facts: ZoneFacts;
  readonly clock: Clock;
  readonly queue: WorkQueue;
  readonly isInside: (address: string) => boolean;
}
