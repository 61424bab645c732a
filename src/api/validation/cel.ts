/** CEL as an API server evaluates it: Kubernetes' IP and CIDR functions, integers as bigint, parsed rules kept. */
import { Environment } from '@marcbachmann/cel-js';
import {
  containsAddress,
  containsPrefix,
  formatAddress,
  formatInterfaceAddress,
  parseAddress,
  parseInterfaceAddress,
  prefixOf,
  type Address,
  type InterfaceAddress,
} from '../../allocators/addresses.ts';

class CelAddress {
  readonly address: Address;
  constructor(address: Address) {
    this.address = address;
  }
}

/** A block that may have host bits set. */
class CelCidr {
  readonly cidr: InterfaceAddress;
  constructor(cidr: InterfaceAddress) {
    this.cidr = cidr;
  }
}

function addressOf(text: string): CelAddress {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`IP Address '${text}' parse error during conversion`);
  return new CelAddress(address);
}

function cidrOf(text: string): CelCidr {
  const cidr = parseInterfaceAddress(text);
  if (cidr === undefined) throw new Error(`network address parse error: ${text}`);
  return new CelCidr(cidr);
}

function masked(cidr: InterfaceAddress): CelCidr {
  const { family, base, length } = prefixOf(cidr);
  return new CelCidr({ family, value: base, length });
}

/** Functions of k8s.io/apiserver's CEL libraries "ip" and "cidr". */
function kubernetesEnvironment(): Environment {
  return new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true })
    .registerType('IP', CelAddress)
    .registerType('CIDR', CelCidr)
    .registerFunction('isIP(string): bool', (text: string) => parseAddress(text) !== undefined)
    .registerFunction('ip(string): IP', addressOf)
    .registerFunction('IP.family(): int', ({ address }: CelAddress) =>
      address.family === 'v4' ? 4n : 6n,
    )
    .registerFunction(
      'isCIDR(string): bool',
      (text: string) => parseInterfaceAddress(text) !== undefined,
    )
    .registerFunction('cidr(string): CIDR', cidrOf)
    .registerFunction('CIDR.ip(): IP', ({ cidr }: CelCidr) => new CelAddress(cidr))
    .registerFunction('CIDR.prefixLength(): int', ({ cidr }: CelCidr) => BigInt(cidr.length))
    .registerFunction('CIDR.masked(): CIDR', ({ cidr }: CelCidr) => masked(cidr))
    .registerFunction('CIDR.containsIP(string): bool', ({ cidr }: CelCidr, text: string) =>
      containsAddress(prefixOf(cidr), addressOf(text).address),
    )
    .registerFunction('CIDR.containsIP(IP): bool', ({ cidr }: CelCidr, ip: CelAddress) =>
      containsAddress(prefixOf(cidr), ip.address),
    )
    .registerFunction('CIDR.containsCIDR(string): bool', ({ cidr }: CelCidr, text: string) =>
      containsPrefix(prefixOf(cidr), prefixOf(cidrOf(text).cidr)),
    )
    .registerFunction('CIDR.containsCIDR(CIDR): bool', ({ cidr }: CelCidr, inner: CelCidr) =>
      containsPrefix(prefixOf(cidr), prefixOf(inner.cidr)),
    )
    .registerOperator(
      'IP == IP',
      (a: CelAddress, b: CelAddress) => formatAddress(a.address) === formatAddress(b.address),
    )
    .registerOperator(
      'CIDR == CIDR',
      (a: CelCidr, b: CelCidr) => formatInterfaceAddress(a.cidr) === formatInterfaceAddress(b.cidr),
    );
}

interface CelVariables {
  readonly self: unknown;
  readonly oldSelf?: unknown;
}

/** A parsed expression. Throws when evaluation fails (a type that does not fit, a bad address). */
export type CelProgram = (variables: CelVariables) => unknown;

let environment: Environment | undefined;
const programs = new Map<string, CelProgram>();

/** The program of an expression; parsed once. Throws on an expression that is no CEL. */
export function celProgram(expression: string): CelProgram {
  const known = programs.get(expression);
  if (known !== undefined) return known;
  environment ??= kubernetesEnvironment();
  const parsed = environment.parse(expression);
  const program: CelProgram = (variables) => parsed({ ...variables }) as unknown;
  programs.set(expression, program);
  return program;
}

/** Whether a rule compares with the stored object, and so does not apply to a new one. */
export const isTransitionRule = (expression: string): boolean =>
  /\boldSelf\b/.test(expression.replaceAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, ''));
