/** Members that no rule tells apart are one class: what one of them reaches, all of them reach. Pure. */
import {
  containsAddress,
  parseAddress,
  parsePrefix,
  type Address,
} from '../allocators/addresses.ts';
import { matchesSelector } from '../api/selectors.ts';
import type { Service } from '../api/types.ts';
import type { AddressBlock, Protocol } from '../model/read/policies.ts';
import type { PodSelection } from '../model/rules/selections.ts';
import type { Member } from './members.ts';

/** A service with the pods behind it, and what its ports lead to. */
export interface KnownService {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: NonNullable<Service['spec']['ports']>;
  readonly clusterIps: readonly string[];
}

/** Everything by which rules tell members apart. */
export interface Distinctions {
  readonly selections: ReadonlyMap<string, PodSelection>;
  readonly blocks: ReadonlyMap<string, AddressBlock>;
  /** Names of ports in rules and services. */
  readonly portNames: ReadonlySet<string>;
  readonly services: readonly KnownService[];
  /** Namespaces that have an EgressFirewall. */
  readonly firewalled: ReadonlySet<string>;
}

export interface MemberClass {
  readonly network: string;
  readonly role: Member['role'];
  /** Ids. */
  readonly selections: ReadonlySet<string>;
  /** Blocks that one of its addresses is in. */
  readonly blocks: ReadonlySet<string>;
  /** Services that it is behind. */
  readonly services: ReadonlySet<string>;
  /** Namespace whose EgressFirewall it is under. */
  readonly firewall: string | undefined;
  readonly openPorts: Member['openPorts'];
  numberOf(protocol: Protocol, name: string): number | undefined;
}

export const blockKey = ({ cidr, except }: AddressBlock): string => [cidr, ...except].join(' ');

/** Sorts members into classes; those of one are one object. */
export class MemberClasses {
  readonly #distinctions: Distinctions;
  readonly #blocks: readonly { readonly key: string; readonly has: (one: Address) => boolean }[];
  readonly #classes = new Map<string, MemberClass>();
  /** Selections by labels of namespace and pod: copies of one pod have the same. */
  readonly #selected = new Map<string, readonly string[]>();

  constructor(distinctions: Distinctions) {
    this.#distinctions = distinctions;
    this.#blocks = [...distinctions.blocks].flatMap(([key, { cidr, except }]) => {
      const block = parsePrefix(cidr);
      const holes = except.map(parsePrefix).filter((one) => one !== undefined);
      return block === undefined
        ? []
        : {
            key,
            has: (one: Address) =>
              containsAddress(block, one) && !holes.some((hole) => containsAddress(hole, one)),
          };
    });
  }

  of(member: Member): MemberClass {
    const { network, role, namespace, openPorts } = member;
    const selections = this.#selectionsOf(member);
    const addresses = member.addresses.map(parseAddress).filter((one) => one !== undefined);
    const blocks = this.#blocks.filter(({ has }) => addresses.some(has)).map(({ key }) => key);
    const services = this.#distinctions.services
      .filter((one) => one.namespace === namespace && isBehind(one, member))
      .map(({ key }) => key);
    const firewall = this.#distinctions.firewalled.has(namespace) ? namespace : undefined;
    const ports = member.namedPorts.filter(({ name }) => this.#distinctions.portNames.has(name));
    const known = [network, role, selections, blocks, services, firewall, ports, openPorts];
    const key = JSON.stringify(known);
    const found = this.#classes.get(key) ?? {
      network,
      role,
      selections: new Set(selections),
      blocks: new Set(blocks),
      services: new Set(services),
      firewall,
      openPorts,
      numberOf: (protocol: Protocol, wanted: string) =>
        ports.find((port) => port.name === wanted && port.protocol.toLowerCase() === protocol)
          ?.port,
    };
    this.#classes.set(key, found);
    return found;
  }

  #selectionsOf({ namespace, namespaceLabels, labels }: Member): readonly string[] {
    const key = JSON.stringify([namespace, namespaceLabels, labels]);
    const known = this.#selected.get(key);
    if (known !== undefined) return known;
    const found = [...this.#distinctions.selections]
      .filter(
        ([, selection]) =>
          (selection.namespaceSelector === undefined
            ? selection.namespace === namespace
            : matchesSelector(selection.namespaceSelector, namespaceLabels)) &&
          matchesSelector(selection.podSelector, labels),
      )
      .map(([id]) => id)
      .sort();
    this.#selected.set(key, found);
    return found;
  }
}

/** One without a selector has no pods by itself. */
const isBehind = ({ selector }: KnownService, { labels }: Member): boolean =>
  Object.keys(selector).length > 0 && matchesSelector({ matchLabels: selector }, labels);
