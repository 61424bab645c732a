/** What to do about an error of a field, beside the text that an API server has for it. Pure. */
import { canonicalCidr, parseInterfaceAddress, parsePrefix } from '../../allocators/addresses.ts';
import { isPlainObject, own } from '../plain-object.ts';
import type { FieldError } from './field-errors.ts';
import { nearestName } from './nearest-name.ts';

type Remedy = string | ((value: unknown, match: readonly string[]) => string);

const PRIMARY = 'set role: Primary';
const ONE_OF_EACH_FAMILY = 'keep one of IPv4 and one of IPv6';

/** `10.0.0.0/16/24`: the notation of Layer3 networks, where a node's part is told. */
function cidrRemedy(value: unknown): string {
  const [address = '', length = '', ...more] = typeof value === 'string' ? value.split('/') : [];
  const cidr = `${address}/${length}`;
  if (more.length === 0 && parsePrefix(cidr) !== undefined && canonicalCidr(cidr) !== cidr)
    return `write ${canonicalCidr(cidr)}`;
  return more.length > 0 && parseInterfaceAddress(cidr) !== undefined
    ? `write ${cidr}: nodes have no part of their own of it`
    : 'write an address and the length of its prefix, such as 10.100.0.0/16 or fd00:100::/64';
}

/** A prefix of what is divided, and longer than that of the whole. */
function partRemedy(field: string, value: unknown): string {
  const cidr = isPlainObject(value) ? own(value, 'cidr') : undefined;
  const whole = typeof cidr === 'string' ? parseInterfaceAddress(cidr) : undefined;
  if (whole === undefined)
    return `${field} is the length of the prefix of a part: longer than that of cidr`;
  const longest = whole.family === 'v4' ? 31 : 127;
  return whole.length + 1 > longest
    ? `take a wider range than ${String(cidr)}`
    : `${field} is the length of the prefix of a part of ${String(cidr)}: write one from ${whole.length + 1} to ${longest}`;
}

/** The section of a topology: it is missing, or it is there for another one. */
const sectionRemedy = (value: unknown, section: string, topology: string): string =>
  isPlainObject(value) && own(value, 'topology') === topology
    ? `add ${section}`
    : `take ${section} out, or set topology: ${topology}`;

/** The first that matches counts. */
const REMEDIES: readonly (readonly [RegExp, Remedy])[] = [
  [/^CIDR is invalid$/, cidrRemedy],
  [/^CIDR must be a valid network address$/, cidrRemedy],
  [/^IP is invalid$/, 'write one address, such as 10.100.0.1 or fd00:100::1'],
  [/^HostSubnet must/, (value) => partRemedy('hostSubnet', value)],
  [/^NetworkPrefix must/, (value) => partRemedy('networkPrefix', value)],
  [/^When 2 (CIDRs|IPs) are set/, ONE_OF_EACH_FAMILY],
  [/^Secondary networks may define at most 2 subnets$/, ONE_OF_EACH_FAMILY],
  [/^Unexpected number of join subnets$/, 'write one, or one of IPv4 and one of IPv6'],
  [/^Subnets with same CIDR/, 'take one of them out'],
  [/^Subnets must not overlap/, 'write ranges that are apart'],
  [/^Subnets from the same IP family/, 'write the same hostSubnet for all of them'],
  [/^Subnets must be unset when/, 'take subnets out, or ipam.mode: Disabled'],
  [/^Subnets is required with/, 'add subnets; a Secondary network may have ipam.mode: Disabled'],
  [/^Subnets is required for/, 'add subnets'],
  [
    /^(\w+) must be unset when subnets is unset$/,
    (_, [field]) => `add subnets, or take ${field} out`,
  ],
  [/^MTU should be/, 'raise mtu, or take the IPv6 subnet out'],
  [
    /^(\w+) is only supported for Primary network$/,
    (_, [field = '']) =>
      `take ${field.slice(0, 1).toLowerCase()}${field.slice(1)} out, or ${PRIMARY}`,
  ],
  [
    /^(\w+) must be subnetworks of/,
    (_, [field]) => `write ranges within subnets, or take ${field} out`,
  ],
  [/must be a masked network address/, 'write the first address of each range'],
  [/^infrastructureSubnets and reservedSubnets must not/, 'write ranges that are apart'],
  [/^defaultGatewayIPs must belong/, 'write addresses within subnets'],
  [/^defaultGatewayIPs have to belong/, 'write addresses within infrastructureSubnets'],
  [/^defaultGatewayIPs must be specified for all/, 'write one for each family of subnets'],
  [/^lifecycle Persistent/, 'take lifecycle out, or ipam.mode: Disabled'],
  [/^ipam\.?[lL]ifecycle is supported/, 'take it out, or take another topology'],
  [/^Topology localnet is not/, 'set role: Secondary'],
  [/^Disabled ipam\.mode/, 'take ipam.mode out and add subnets, or set role: Secondary'],
  [
    /^spec\.(\w+) is required when topology is (\w+) and/,
    (value, [section = '', topology = '']) => sectionRemedy(value, section, topology),
  ],
  [/^Removing existing subnets/, 'keep what is stored, and add others behind it'],
  [/is immutable\b/, 'keep what is stored, or delete the object and make it anew'],
  [/cannot contain duplicate values$/, 'write each once'],
  [/^exactly one of (\w+) and (\w+)/, (_, [a, b]) => `write ${a}, and take ${b} out`],
  [/^physicalNetworkName cannot/, "write one name of the nodes' ovn-bridge-mappings"],
  [/^Can't specify both podSelector/, 'write two peers'],
  [
    /^Inconsistent selector: both \w+ (\w+) and (\w+)/,
    (_, [type, selector]) => `write networkSelectionType: ${type} with ${selector}, or neither`,
  ],
  [
    /^Only (\w+) or (\w+) can be selected/,
    (_, [a, b]) => `write networkSelectionType: ${a} or ${b}`,
  ],
  [
    /^Unsupported network selection type$/,
    'write networkSelectionType: ClusterUserDefinedNetworks or NetworkAttachmentDefinitions',
  ],
  [/^For dual-stack, networkPrefix/, 'write an IPv6 networkPrefix that is the one of IPv4 plus 96'],
  [/^template holds either/, 'keep one of the two'],
  [
    /^trafficSelector must specify/,
    'add matchLabels or matchExpressions, or take trafficSelector out for all destinations',
  ],
  [/^protocols are not supported/, 'take protocols out'],
  [/^spec\.uplinks/, 'take uplinks out'],
  [/^transport '/, 'take transport out'],
  [/^macVRF and ipVRF must use/, 'write another vni in one of them'],
  [/^at least one of (\w+) or (\w+)/, (_, [a, b]) => `add ${a} or ${b}`],
  [/^vlan access config is required/, 'add vlan.access with an id, or take vlan out'],
  [/^must have at most 1 item$/, 'keep one of them'],
  [/\bdnsName in body should match/, 'write a name such as www.example.com or *.example.com'],
  [
    /\bto in body should have at least 1 prop/,
    'write one of cidrSelector, dnsName and nodeSelector',
  ],
  [/\bnextHops in body should have at least 1 prop/, 'write static, dynamic or both'],
  [/^(\S+)(?: field)? is required/, (_, [field]) => `add ${field}`],
  [/^(\S+)(?: field)? is forbidden/, (_, [field]) => `take ${field} out`],
];

/** Words that a pattern lists: `^Allow|Deny$`. */
const LISTED = /should match '\^(\w+(?:\|\w+)*)\$'$/;

/** A value of a list that is written: which one may have been meant. */
function nearestValue({ detail, value }: FieldError): string | undefined {
  const listed = LISTED.exec(detail)?.[1]?.split('|');
  const names = listed ?? [...detail.matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? '');
  const nearest = typeof value === 'string' ? nearestName(value, names) : undefined;
  if (nearest !== undefined) return `did you mean "${nearest}"?`;
  return listed === undefined ? undefined : `write ${listed.join(' or ')}`;
}

/** A value in the type that is wanted, where it is one but for its spelling. */
function typeRemedy(value: unknown, detail: string): string | undefined {
  const [, wanted = ''] = /must be of type (\w+):/.exec(detail) ?? [];
  switch (wanted) {
    case 'cidr':
      return cidrRemedy(value);
    case 'array':
      return isPlainObject(value) ? 'write "-" before each item' : 'write it as a list: [ … ]';
    case 'integer':
      return typeof value === 'string' && /^\d+$/.test(value)
        ? `write ${value} without quotes`
        : 'write a whole number';
    case 'boolean':
      return 'write true or false, without quotes';
    case 'string':
      return typeof value === 'number' || typeof value === 'boolean'
        ? 'put it in quotes'
        : 'write a text';
    case 'object':
      return 'write a map: its fields below it, or in { … }';
    default:
      return undefined;
  }
}

/** What to do; undefined where the error says it. */
export function remedyOf(error: FieldError): string | undefined {
  const { type, value, detail } = error;
  if (type === 'NotSupported' || LISTED.test(detail)) return nearestValue(error);
  if (type === 'TypeInvalid') return typeRemedy(value, detail);
  for (const [pattern, remedy] of REMEDIES) {
    const match = pattern.exec(detail);
    if (match !== null) return typeof remedy === 'string' ? remedy : remedy(value, match.slice(1));
  }
  return undefined;
}
