"""toolroute"""
