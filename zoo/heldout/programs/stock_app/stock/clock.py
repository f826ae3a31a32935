from datetime import datetime, timedelta


def last_days(count):
    """Opening times of the last days, the newest first."""
    now = datetime.now()
    return [now - timedelta(days=day, hours=day % 3) for day in range(count)]


def phase(moment):
    seconds = moment.minute * 60 + moment.second + moment.microsecond / 1e6
    return seconds / 3600.0
