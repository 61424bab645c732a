import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { FieldError } from '../../../src/api/validation/field-errors.ts';
import { parseManifest } from '../../../src/api/validation/manifest.ts';
import { remedyOf } from '../../../src/api/validation/remedies.ts';

const DEFINITIONS = resolve(import.meta.dirname, '../../../schemas/crds');

/** Messages of all rules in and below a value. */
function messagesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { 'x-kubernetes-validations': rules = [] } = value as {
    'x-kubernetes-validations'?: readonly { message?: string }[];
  };
  return [
    ...rules.flatMap(({ message }) => message ?? []),
    ...Object.values(value).flatMap(messagesIn),
  ];
}

const invalid = (value: unknown, detail: string): FieldError => ({
  type: 'Invalid',
  path: ['spec'],
  value,
  detail,
});

const ofType = (value: unknown, wanted: string, actual: string): FieldError => ({
  ...invalid(value, `spec.a in body must be of type ${wanted}: "${actual}"`),
  type: 'TypeInvalid',
});

describe('what to do about an error', () => {
  test('every rule of our definitions has it', () => {
    const messages = new Set(
      readdirSync(DEFINITIONS).flatMap((name) =>
        messagesIn(parse(readFileSync(join(DEFINITIONS, name), 'utf8'))),
      ),
    );
    expect(messages.size).toBeGreaterThan(70);
    const without = [...messages].filter((detail) => remedyOf(invalid({}, detail)) === undefined);
    expect(without).toEqual([]);
  });

  const LAYER3 = 'spec.layer3 is required when topology is Layer3 and forbidden otherwise';
  const PART = 'HostSubnet must be smaller than CIDR subnet';
  const PATTERN = "spec.egress[0].type in body should match '^Allow|Deny$'";
  test.each<[FieldError, string | undefined]>([
    [
      invalid('10.1.0.0/16/24', 'CIDR is invalid'),
      'write 10.1.0.0/16: nodes have no part of their own of it',
    ],
    [
      invalid('a/b/c', 'CIDR is invalid'),
      'write an address and the length of its prefix, such as 10.100.0.0/16 or fd00:100::/64',
    ],
    [invalid('10.1.0.1/16', 'CIDR must be a valid network address'), 'write 10.1.0.0/16'],
    [
      invalid({ cidr: '10.1.0.0/16', hostSubnet: 8 }, PART),
      'hostSubnet is the length of the prefix of a part of 10.1.0.0/16: write one from 17 to 31',
    ],
    [invalid({ cidr: '10.1.0.0/31', hostSubnet: 8 }, PART), 'take a wider range than 10.1.0.0/31'],
    [invalid({ topology: 'Layer3', layer2: {} }, LAYER3), 'add layer3'],
    [invalid({ topology: 'Layer2' }, LAYER3), 'take layer3 out, or set topology: Layer3'],
    [
      invalid({}, 'JoinSubnets is only supported for Primary network'),
      'take joinSubnets out, or set role: Primary',
    ],
    [
      { ...invalid('layer2', 'supported values: "Layer2", "Layer3"'), type: 'NotSupported' },
      'did you mean "Layer2"?',
    ],
    [
      { ...invalid('mesh', 'supported values: "Layer2", "Layer3"'), type: 'NotSupported' },
      undefined,
    ],
    [invalid('allow', PATTERN), 'did you mean "Allow"?'],
    [invalid('no', PATTERN), 'write Allow or Deny'],
    [invalid('mine', "metadata.name in body should match '^default$'"), 'write default'],
    [ofType('24', 'integer', 'string'), 'write 24 without quotes'],
    [ofType('10M', 'integer', 'string'), 'write a whole number'],
    [ofType('yes', 'boolean', 'string'), 'write true or false, without quotes'],
    [ofType(5, 'string', 'integer'), 'put it in quotes'],
    [ofType({ a: 1 }, 'array', 'object'), 'write "-" before each item'],
    [ofType('a', 'array', 'string'), 'write it as a list: [ … ]'],
    [ofType([], 'object', 'array'), 'write a map: its fields below it, or in { … }'],
    [
      ofType('10.0.0.1', 'cidr', '10.0.0.1'),
      'write an address and the length of its prefix, such as 10.100.0.0/16 or fd00:100::/64',
    ],
    [{ ...invalid(2, 'must have at most 1 item'), type: 'TooMany' }, 'keep one of them'],
    [
      invalid('http://a/', "spec.egress[0].to.dnsName in body should match '^(x)$'"),
      'write a name such as www.example.com or *.example.com',
    ],
    [
      invalid({}, 'spec.egress[2].to in body should have at least 1 properties'),
      'write one of cidrSelector, dnsName and nodeSelector',
    ],
    [
      invalid({}, 'spec.nextHops in body should have at least 1 properties'),
      'write static, dynamic or both',
    ],
  ])('%j: %s', (error, remedy) => {
    expect(remedyOf(error)).toBe(remedy);
  });

  test('stands behind the text of an API server', () => {
    const { errors } = parseManifest(
      `apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: net, namespace: blue }
spec: { topology: Layer2, layer2: { role: Primary, subnets: [10.1.0.0/16, 10.2.0.0/16] } }`,
      'net.yaml',
    );
    expect(errors.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      'spec.layer2.subnets: Invalid value: ["10.1.0.0/16","10.2.0.0/16"]: When 2 CIDRs are set, they must be from different IP families; keep one of IPv4 and one of IPv6',
    ]);
  });
});
